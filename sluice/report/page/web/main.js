// Starts the page: reads the document and draws each chart whose figure and data are there.
const report = JSON.parse(document.getElementById("report-data").textContent);
