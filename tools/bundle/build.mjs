// Builds the scripts of the pages into one file, and writes the licences of what is in it beside it.
//
//     node build.mjs FOLDER

import { readFileSync, readdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"

const here = dirname(fileURLToPath(import.meta.url))
const folder = process.argv[2]
const result = await build({
  absWorkingDir: here,
  entryPoints: ["src/main.js"],
  bundle: true,
  minify: true,
  format: "iife",
  target: ["es2022"],
  charset: "utf8",
  legalComments: "none",
  metafile: true,
  write: false,
})
writeFileSync(join(folder, "privet.js"), result.outputFiles[0].contents)

const names = new Set()
for (const path of Object.keys(result.metafile.inputs)) {
  const found = path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//)
  if (found) names.add(found[1])
}
const texts = [...names].sort().map((name) => {
  const place = join(here, "node_modules", name)
  const facts = JSON.parse(readFileSync(join(place, "package.json"), "utf8"))
  const file = readdirSync(place).find((one) => /^licen[cs]e/i.test(one))
  if (!file) throw new Error(`${name} has no licence`)
  return `${name} ${facts.version} (${facts.license})\n\n${readFileSync(join(place, file), "utf8").trim()}\n`
})
const line = `${"-".repeat(80)}\n`
const intro = "privet.js contains these packages, each under its own licence.\n\n"
writeFileSync(join(folder, "LICENSES.txt"), intro + texts.join(`\n${line}\n`))
