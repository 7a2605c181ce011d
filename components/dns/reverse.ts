/** Returns the address of a reverse name: `10.42.0.7` for `7.0.42.10.in-addr.arpa`; undefined for other names. */
export function reverseAddress(name: string): string | undefined {
  const v4 = /^(\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})\.in-addr\.arpa$/.exec(name)
  if (v4 !== null) return v4[1]!.split(".").reverse().join(".")
  const v6 = /^((?:[0-9a-f]\.){32})ip6\.arpa$/.exec(name)
  if (v6 === null) return undefined
  const hex = v6[1]!.split(".").slice(0, 32).reverse().join("")
  return compressed(hex.match(/.{4}/g)!.map((group) => group.replace(/^0+(?=.)/, "")))
}

/** Writes eight groups as RFC 5952 does: the longest run of zeros becomes `::`. */
function compressed(groups: readonly string[]): string {
  const runs = [...groups.join(":").matchAll(/(?:^|:)(0(?::0)+)(?=:|$)/g)].map(([, run]) => run!)
  const longest = runs.sort((a, b) => b.length - a.length)[0]
  return longest === undefined ? groups.join(":") : groups.join(":").replace(new RegExp(`(^|:)${longest}(:|$)`), "::")
}
