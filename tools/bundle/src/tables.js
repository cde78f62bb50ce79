// Tables whose rows are sorted by a click on a heading: numbers as numbers, texts as texts, what is missing last.

export function sortTable(table) {
  if (table.dataset.started) return
  table.dataset.started = "yes"
  const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells]
  heads.forEach((head, place) => {
    const button = head.querySelector("button")
    if (!button) return
    button.addEventListener("click", () => {
      const falling = head.getAttribute("aria-sort") === "ascending"
      heads.forEach((one) => one.removeAttribute("aria-sort"))
      head.setAttribute("aria-sort", falling ? "descending" : "ascending")
      const value = (row) => row.cells[place].dataset.value ?? row.cells[place].textContent
      const rows = [...table.tBodies[0].rows]
      const numeric = rows.every((row) => value(row) === "" || !Number.isNaN(Number(value(row))))
      rows.sort((one, other) => {
        const [a, b] = [value(one), value(other)]
        if (a === "" || b === "") return (a === "") - (b === "")
        const order = numeric ? Number(a) - Number(b) : a.localeCompare(b)
        return falling ? -order : order
      })
      table.tBodies[0].append(...rows)
    })
  })
}
