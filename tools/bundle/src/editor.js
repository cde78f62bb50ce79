// The SQL editor over a textarea: highlighting, and completion from the declared tables and columns.

import { autocompletion, closeBrackets, completionKeymap } from "@codemirror/autocomplete"
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands"
import { PostgreSQL, sql } from "@codemirror/lang-sql"
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language"
import { EditorState } from "@codemirror/state"
import { EditorView, keymap, placeholder } from "@codemirror/view"
import { tags } from "@lezer/highlight"

const colours = HighlightStyle.define([
  { tag: tags.keyword, class: "sql-keyword" },
  { tag: [tags.string, tags.special(tags.string)], class: "sql-text" },
  { tag: [tags.number, tags.bool, tags.null], class: "sql-number" },
  { tag: [tags.comment, tags.lineComment, tags.blockComment], class: "sql-comment" },
  { tag: [tags.typeName, tags.standard(tags.name)], class: "sql-function" },
])

const WAIT = 250

// A browser that replaces coloured text itself writes a style into the page, which the page's policy forbids.
function replaceByHand(event, view) {
  if (event.inputType !== "insertText" || !event.data || event.isComposing || view.state.selection.main.empty) return false
  event.preventDefault()
  view.dispatch(view.state.update(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true }))
  return true
}

export function editSql(area, replan) {
  if (area.dataset.started) return
  area.dataset.started = "yes"
  const schema = JSON.parse(area.dataset.schema || "{}")
  const nonce = document.querySelector("meta[name=csp-nonce]")
  let waiting
  const view = new EditorView({
    parent: area.parentElement,
    state: EditorState.create({
      doc: area.value,
      extensions: [
        nonce ? EditorView.cspNonce.of(nonce.content) : [],
        history(),
        closeBrackets(),
        autocompletion({ icons: false }),
        // Tab leaves the editor, so that the page can be used with a keyboard alone
        keymap.of([
          { key: "Mod-Enter", run: () => (area.form.requestSubmit(), true) },
          ...completionKeymap,
          ...historyKeymap,
          ...defaultKeymap,
        ]),
        sql({ dialect: PostgreSQL, schema, upperCaseKeywords: true }),
        syntaxHighlighting(colours),
        EditorView.lineWrapping,
        EditorView.domEventHandlers({ beforeinput: replaceByHand }),
        EditorView.contentAttributes.of({
          "aria-label": area.getAttribute("aria-label"),
          "aria-describedby": area.getAttribute("aria-describedby") || "",
        }),
        placeholder("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"),
        EditorView.updateListener.of((update) => {
          if (!update.docChanged) return
          area.value = update.state.doc.toString()
          clearTimeout(waiting)
          waiting = setTimeout(() => replan(area.form), WAIT)
        }),
      ],
    }),
  })
  area.hidden = true
  area.addEventListener("use", (event) => {
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: event.detail } })
    view.focus()
  })
}
