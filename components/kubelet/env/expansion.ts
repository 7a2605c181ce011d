/**
 * Replaces `$(NAME)` by what `valueOf` gives. What it does not know stays as it is written; `$$` is one `$`, so that
 * `$$(NAME)` is never replaced. Source: third_party/forked/golang/expansion.
 */
export function expand(text: string, valueOf: (name: string) => string | undefined): string {
  // Behind the last `)` nothing is closed: it is looked for once.
  const last = text.lastIndexOf(")")
  let expanded = ""
  let at = 0
  for (let operator = text.indexOf("$"); operator !== -1; operator = text.indexOf("$", at)) {
    expanded += text.slice(at, operator)
    const isReference = text[operator + 1] === "(" && operator < last
    const end = isReference ? text.indexOf(")", operator) + 1 : operator + (text[operator + 1] === "$" ? 2 : 1)
    // An operator that is neither doubled nor followed by a closed pair of parentheses stands for itself.
    const written = text.slice(operator, end)
    expanded += isReference ? (valueOf(written.slice(2, -1)) ?? written) : "$"
    at = end
  }
  return expanded + text.slice(at)
}
