import type { PackageTypes } from "./types.ts"
import { withoutComments } from "./statements.ts"

/** Where the public API is listed, in the repository. */
export const API_FILE = "docs/api.txt"

/**
 * Lists the public API: what each way in exports, and every declaration that this reaches, without its documentation.
 * Of kinds there are the names alone, since their fields are Kubernetes'.
 */
export function listApi({ entries, declarations, kinds }: PackageTypes): string {
  const parts = [
    "The public API of the npm package, made of its types by `npm run package -- --write-api`. A test fails where it",
    "differs: what is added or changed here is promised to everyone who uses the package.",
  ]
  for (const [name, exported] of entries) {
    parts.push("", `k3ts/${name}`, "")
    for (const one of [...exported].sort()) parts.push(`  ${one}`)
  }
  parts.push("", "Kinds, each a value and a type", "")
  for (const name of [...kinds.keys()].sort()) parts.push(`  ${name}: ${kinds.get(name)?.apiVersion}`)
  parts.push("", "Declarations, by the modules of our sources")
  let module = ""
  for (const { path, text } of declarations.statements()) {
    if (path !== module) parts.push("", `// ${path}`)
    module = path
    parts.push(withoutComments(text))
  }
  return `${parts.join("\n")}\n`
}
