// The scripts of the server's pages: htmx for parts of pages, the SQL editor, the slider, forms that call the API.
// Nothing here decides about privacy: prices, widths and answers come from the server.

import htmx from "htmx.org"
import { editSql } from "./editor.js"
import { callApi } from "./forms.js"
import { followSlider } from "./slider.js"
import { sortTable } from "./tables.js"

htmx.config.allowEval = false
htmx.config.includeIndicatorStyles = false
htmx.config.selfRequestsOnly = true
htmx.config.historyEnabled = false
htmx.config.responseHandling = [
  { code: "204", swap: false },
  { code: "[2345]..", swap: true },
]

htmx.defineExtension("json", {
  onEvent(name, event) {
    if (name === "htmx:configRequest") event.detail.headers["Content-Type"] = "application/json"
    return true
  },
  encodeParameters(request, parameters) {
    return JSON.stringify(Object.fromEntries(parameters))
  },
})

document.addEventListener("htmx:configRequest", (event) => {
  const token = document.querySelector("meta[name=csrf-token]")
  if (token) event.detail.headers["X-CSRF-Token"] = token.content
})

function replan(form) {
  htmx.trigger(form, "replan")
}

function start(root) {
  for (const area of root.querySelectorAll("textarea[data-sql]")) editSql(area, replan)
  for (const slider of root.querySelectorAll("input[data-slider]")) followSlider(slider, replan)
  for (const form of root.querySelectorAll("form[data-api]")) callApi(form)
  for (const table of root.querySelectorAll("table[data-sortable]")) sortTable(table)
  for (const button of root.querySelectorAll("button[data-use]")) useText(button)
  for (const button of root.querySelectorAll("button[data-download]")) saveText(button)
  for (const field of root.querySelectorAll("[data-replans]"))
    field.addEventListener("input", () => replan(field.form))
}

// a button that saves the text of an element as a file
function saveText(button) {
  button.addEventListener("click", () => {
    const link = document.createElement("a")
    const text = document.getElementById(button.dataset.download).textContent
    link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }))
    link.download = button.dataset.file
    link.click()
    URL.revokeObjectURL(link.href)
  })
}

// a button that puts a question into the editor
function useText(button) {
  button.addEventListener("click", () => {
    const area = document.querySelector("textarea[data-sql]")
    area.dispatchEvent(new CustomEvent("use", { detail: button.dataset.use }))
    area.form.scrollIntoView({ block: "start" })
  })
}

document.addEventListener("privet:use", (event) => {
  document.querySelector("textarea[data-sql]").dispatchEvent(new CustomEvent("use", { detail: event.detail.sql }))
})

function startTheme() {
  const button = document.querySelector("[data-theme-switch]")
  const dark = () =>
    document.documentElement.dataset.theme
      ? document.documentElement.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches
  if (!button) return
  const told = () => (button.textContent = dark() ? "Light" : "Dark")
  told()
  button.addEventListener("click", () => {
    const next = dark() ? "light" : "dark"
    document.documentElement.dataset.theme = next
    localStorage.setItem("privet-theme", next)
    told()
  })
}

const kept = localStorage.getItem("privet-theme")
if (kept) document.documentElement.dataset.theme = kept
document.addEventListener("DOMContentLoaded", () => {
  startTheme()
  start(document)
})
document.addEventListener("htmx:afterSwap", (event) => start(event.detail.target))
