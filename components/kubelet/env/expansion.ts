/**
 * Replaces `$(NAME)` by the result of `valueOf`. Unknown names stay as they are; `$$` is one `$`, so `$$(NAME)` is
 * never replaced. Source: third_party/forked/golang/expansion.
 */
export function expand(text: string, valueOf: (name: string) => string | undefined): string {
  // A `$(` behind the last `)` is no reference. The last `)` is searched for once, so that long texts stay cheap.
  const last = text.lastIndexOf(")")
  let expanded = ""
  let at = 0
  for (let operator = text.indexOf("$"); operator !== -1; operator = text.indexOf("$", at)) {
    expanded += text.slice(at, operator)
    const isReference = text[operator + 1] === "(" && operator < last
    const end = isReference ? text.indexOf(")", operator) + 1 : operator + (text[operator + 1] === "$" ? 2 : 1)
    // A `$` that is neither doubled nor followed by closed parentheses stays.
    const written = text.slice(operator, end)
    expanded += isReference ? (valueOf(written.slice(2, -1)) ?? written) : "$"
    at = end
  }
  return expanded + text.slice(at)
}
