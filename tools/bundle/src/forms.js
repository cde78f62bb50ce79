// Forms that call the server's API with JSON, show its error in words, and go on to a page.
//
// `data-api` is the address; fields named a.b become {"a": {"b": ...}}; those with `data-list` are lists of names.
// `data-next` is where to go afterwards, with {field} taken from the reply; without it, the page is loaded again.
// A second button may have an address of its own in `data-api`; the text of its reply is shown in the form's output.
// `data-reply` names an element that shows one field of the reply instead, such as a new token.

// `data-each` fields of one name are a list; `data-key` makes an object of them; `data-lines` has one value on each line,
// `data-typed` a number or a text, `data-ratio` a number such as 1/3, `data-day` the end of a day. `data-with` names a field of
// the question's form that is sent along.

function typed(text) {
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
}

function ratio(text) {
  const [over, under] = text.split("/").map(Number)
  return under === undefined ? over : over / under
}

function value(field) {
  const text = field.value
  const kind = field.dataset
  if (kind.list !== undefined) return text.split(",").map((one) => one.trim()).filter(Boolean)
  if (kind.lines !== undefined) {
    const lines = text.split("\n").map((one) => one.trim()).filter(Boolean)
    return lines.every((one) => typeof typed(one) === "number") ? lines.map(typed) : lines
  }
  if (kind.number !== undefined) return Number(text)
  if (kind.ratio !== undefined) return ratio(text)
  if (kind.typed !== undefined) return typed(text)
  if (kind.day !== undefined) return text + "T23:59:59+00:00"
  return text
}

function body(form) {
  const found = {}
  for (const field of form.elements) {
    if (!field.name || field.disabled || field.value === "" || (field.type === "radio" && !field.checked)) continue
    if (field.dataset.local !== undefined) continue
    const path = field.name.split(".")
    let place = found
    for (const part of path.slice(0, -1)) place = place[part] ??= {}
    const last = path.at(-1)
    if (field.type === "checkbox") {
      if (field.checked) (place[last] ??= []).push(field.value)
    } else if (field.dataset.each !== undefined) (place[last] ??= []).push(value(field))
    else if (field.dataset.key !== undefined) (place[last] ??= {})[field.dataset.key] = value(field)
    else place[last] = value(field)
  }
  const other = form.dataset.with && document.querySelector(`#question-form [name=${form.dataset.with}]`)
  if (other) found[form.dataset.with] = other.value
  return found
}

function tell(form, message) {
  const place = form.querySelector("[role=alert]") || document.querySelector("[data-errors]")
  place.textContent = message
  place.hidden = !message
  if (message) place.scrollIntoView({ block: "nearest" })
}

export function callApi(form) {
  if (form.dataset.started) return
  form.dataset.started = "yes"
  form.addEventListener("submit", async (event) => {
    event.preventDefault()
    if (form.dataset.confirm && !window.confirm(form.dataset.confirm)) return
    tell(form, "")
    const buttons = [...form.querySelectorAll("button[type=submit]")]
    buttons.forEach((one) => (one.disabled = true))
    const token = document.querySelector("meta[name=csrf-token]")
    const headers = { "Content-Type": "application/json", ...(token ? { "X-CSRF-Token": token.content } : {}) }
    try {
      const sent = { method: "POST", headers, body: JSON.stringify(body(form)), credentials: "same-origin" }
      const other = event.submitter?.dataset.api
      const response = await fetch(other || form.dataset.api, sent)
      const reply = await response.json()
      if (!response.ok) return tell(form, reply.error ? reply.error.message : "the server could not do this")
      if (other) {
        const place = form.querySelector("output")
        place.textContent = reply.text
        place.hidden = false
        return
      }
      if (form.dataset.reply) {
        const place = document.getElementById(form.dataset.reply)
        place.querySelector("[data-value]").textContent = reply[place.dataset.field]
        place.hidden = false
        place.focus()
        form.reset()
        return
      }
      const next = form.dataset.next
      if (next) location.assign(next.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(reply[name])))
      else location.reload()
    } catch {
      tell(form, "the server cannot be reached; try again")
    } finally {
      buttons.forEach((one) => (one.disabled = false))
    }
  })
}
