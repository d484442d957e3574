/* The search box of the index of numbers: rows whose text holds every word stay, sections without a row go. */
addEventListener("DOMContentLoaded", () => {
  const box = document.getElementById("ledger-search");
  const sections = [...document.querySelectorAll("main > section")].map((section) => [section, [...section.querySelectorAll("tbody tr")].map((row) => [row, row.textContent.toLowerCase()])]);
  const look = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const [section, rows] of sections) {
      let left = 0;
      for (const [row, text] of rows) left += !(row.hidden = !words.every((word) => text.includes(word)));
      section.hidden = words.length > 0 && left === 0;
    }
  };
  box.addEventListener("input", look);
});
