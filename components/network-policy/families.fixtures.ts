/** Tests are written with addresses of IPv4; here they get those of IPv6, or of both. */
import type { Family } from "../../pkg/apimachinery/cidr.ts"
import type { PeerInput, PolicyInput } from "./is-allowed.fixtures.ts"

/** The same with `fd42::7` for `10.42.0.7`, `fd43::7` for `10.43.0.7`, and `f000::/4` for `0.0.0.0/4` around them. */
export const inFamily = <T>(family: Family, value: T): T =>
  family === "IPv4"
    ? value
    : (JSON.parse(
        JSON.stringify(value)
          .replaceAll(/10\.(4[23])\.0\.(\d+)/g, "fd$1::$2")
          .replaceAll(/(fd4[23]::\d+)\/32/g, "$1/128")
          .replaceAll('"0.0.0.0/4"', '"f000::/4"'),
      ) as T)

/** The policy with its blocks of addresses in each of the families. */
export function inFamilies(families: readonly Family[], policy: PolicyInput): PolicyInput {
  const each = (peer: PeerInput) =>
    peer.ipBlock === undefined ? [peer] : families.map((family) => inFamily(family, peer))
  return {
    ...policy,
    ...(policy.ingress === undefined
      ? {}
      : { ingress: policy.ingress.map((rule) => (rule.from ? { ...rule, from: rule.from.flatMap(each) } : rule)) }),
    ...(policy.egress === undefined
      ? {}
      : { egress: policy.egress.map((rule) => (rule.to ? { ...rule, to: rule.to.flatMap(each) } : rule)) }),
  }
}
