/** Attributes that hold an address. Source: apimachinery pkg/util/proxy/transport.go atomsToAttrs. */
const ADDRESSES =
  /(\s(?:href|src|action|cite|background|codebase|data|formaction|icon|longdesc|manifest|poster|profile|usemap)\s*=\s*)("\/[^"]*"|'\/[^']*'|\/[^\s>"']*)/gi

/** A page whose absolute links, which the target meant from its own root, go through the proxy under `prefix`. */
export function rewriteHtml(page: string, prefix: string): string {
  return page.replace(ADDRESSES, (whole: string, attribute: string, value: string) => {
    const quote = value[0] === '"' || value[0] === "'" ? value[0] : ""
    const path = quote === "" ? value : value.slice(1, -1)
    if (path.startsWith("//") || path.startsWith(`${prefix}/`)) return whole
    return `${attribute}${quote}${prefix}${path}${quote}`
  })
}
