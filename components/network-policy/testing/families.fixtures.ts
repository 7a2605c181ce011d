/** Converts tests, which are written with IPv4 addresses, to IPv6 or to both families. */
import type { Family } from "../../../pkg/apimachinery/addresses/cidr.ts"
import type { PeerInput, PolicyInput } from "./is-allowed.fixtures.ts"

/** Replaces `10.42.0.7` by `fd42::7`, `10.43.0.7` by `fd43::7`, and `0.0.0.0/4` around them by `f000::/4`. */
export const inFamily = <T>(family: Family, value: T): T =>
  family === "IPv4"
    ? value
    : (JSON.parse(
        JSON.stringify(value)
          .replaceAll(/10\.(4[23])\.0\.(\d+)/g, "fd$1::$2")
          .replaceAll(/(fd4[23]::\d+)\/32/g, "$1/128")
          .replaceAll('"0.0.0.0/4"', '"f000::/4"'),
      ) as T)

/** Returns the policy with its address blocks in each of the families. */
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
