import { ConfigurationError, configurationText } from "../../../pkg/config-file/config-file.ts"
import type { UserInfo } from "../call/request.ts"

/**
 * Returns the users of a token file by their tokens. Each line has a token, the user's name and uid, and optionally
 * groups, with commas in quotes: `s3cret,jane,1,"dev,ops"`. Where a token comes twice, the last line counts. Source:
 * apiserver pkg/authentication/token/tokenfile.
 * @throws ConfigurationError that names file and line
 */
export function usersInTokenFile(file: string): ReadonlyMap<string, UserInfo> {
  const users = new Map<string, UserInfo>()
  for (const { fields, line } of records(configurationText(file), file)) {
    const [token = "", name = "", uid = "", groups] = fields
    if (fields.length < 3)
      throw new ConfigurationError(
        `${file}:${line}: must have at least 3 columns (token, user name, user uid), found ${fields.length}`,
      )
    if (token === "") continue
    users.set(token, {
      name,
      ...(uid === "" ? {} : { uid }),
      groups: groups === undefined ? [] : groups.split(","),
    })
  }
  return users
}

/** Reads CSV as Go's encoding/csv (RFC 4180). Empty lines are skipped. @throws ConfigurationError */
function records(text: string, file: string): readonly { readonly fields: readonly string[]; readonly line: number }[] {
  const found: { fields: string[]; line: number }[] = []
  let [at, line] = [0, 1]
  while (at < text.length) {
    const fields: string[] = []
    const began = line
    for (;;) {
      const quoted = text[at] === '"'
      let field = ""
      if (quoted) {
        for (;;) {
          const end = text.indexOf('"', at + 1)
          if (end < 0) throw new ConfigurationError(`${file}:${began}: has a quote that does not end`)
          field += text.slice(at + 1, end)
          at = end + 1
          if (text[at] !== '"') break
          field += '"'
        }
        line += field.split("\n").length - 1
        if (at < text.length && !/^(,|\r?\n)/.test(text.slice(at, at + 2)))
          throw new ConfigurationError(`${file}:${line}: has text after the quote that ends a column`)
      } else {
        const end = /[,\n]/.exec(text.slice(at))?.index
        field = text.slice(at, end === undefined ? undefined : at + end).replace(/\r$/, "")
        at = end === undefined ? text.length : at + end
        if (field.includes('"')) throw new ConfigurationError(`${file}:${line}: has a quote inside of a column`)
      }
      fields.push(field)
      if (text[at] !== ",") break
      at++
    }
    at += text[at] === "\r" ? 2 : 1
    line++
    if (fields.length > 1 || fields[0] !== "") found.push({ fields, line: began })
  }
  return found
}
