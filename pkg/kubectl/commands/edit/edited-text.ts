import { goJson } from "../../rest/json.ts"
import { parseYaml } from "../../../yaml/yaml.ts"

/** Why a file must be edited once more. */
export interface Reason {
  readonly head: string
  readonly details: readonly string[]
}

const HEADER = `# Please edit the object below. Lines beginning with a '#' will be ignored,
# and an empty file will abort the edit. If an error occurs while saving this file will be
# reopened with the relevant failures.
#
`
const LAST_APPLIED_HEADER = `# Please edit the 'last-applied-configuration' annotations below.
# Lines beginning with a '#' will be ignored, and an empty file will abort the edit.
#
`

/** The comment at the top of a file that is edited. Source: kubectl pkg/cmd/util/editor/editoptions.go. */
export function headerText(reasons: readonly Reason[], { lastApplied }: { readonly lastApplied: boolean }): string {
  const lines = reasons.map(({ head, details }) => {
    const first = `# ${commented(head)}${details.length > 0 ? ":" : ""}\n`
    return `${first}${details.map((detail) => `# * ${commented(detail)}\n`).join("")}#\n`
  })
  return `${lastApplied ? LAST_APPLIED_HEADER : HEADER}${lines.join("")}`
}

/** Makes each further line of a text a comment. */
const commented = (text: string): string => text.replaceAll(/\n(?!#|$)/g, "\n# ")

/** Returns a file without its comments, for comparing: as JSON, or where it is no YAML as text. */
export function withoutComments(text: string): string {
  try {
    return goJson(parseYaml(text).value ?? null)
  } catch {
    return withoutCommentLines(text)
  }
}

export const withoutCommentLines = (text: string): string =>
  text
    .split("\n")
    .filter((line) => !/^\s*#(?!!)/.test(line))
    .join("\n")

/** Whether a file has more than comments and white space. */
export const hasLines = (text: string): boolean =>
  text.split("\n").some((line) => line.trim() !== "" && !line.trim().startsWith("#"))
