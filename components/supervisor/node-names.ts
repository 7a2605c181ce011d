import { isIP } from "node:net"
import { isDNS1123Subdomain } from "../../pkg/apimachinery/validation/names.ts"

/** Names that resolve to the API server or to the machine itself, as pods and programs on nodes ask for them. */
const TAKEN = ["kubernetes", "kubernetes.default", "localhost"]
/** Domains that are looked up for names of the cluster, of the machine itself, and of addresses. */
const TAKEN_DOMAINS = ["svc", "pod", "localhost", "arpa"]

/**
 * Returns why a machine that joins cannot have this name; undefined when it can. Whoever joins chooses the name, and
 * others ask for it.
 */
export function nodeNameProblem(name: string, clusterDomain: string): string | undefined {
  if (isDNS1123Subdomain(name) !== undefined) return "it is not a node name"
  if (isIP(name) !== 0 || /(?:^|\.)\d+$/.test(name)) return "it can be read as an address"
  const domain = [clusterDomain, ...TAKEN_DOMAINS].find((each) => name === each || name.endsWith(`.${each}`))
  if (domain !== undefined) return `names of the domain ${domain} belong to the cluster or to each machine itself`
  return TAKEN.includes(name) ? "the name belongs to the API server or to each machine itself" : undefined
}
