import { nodeUser, systemAccount, type Identity } from "./clients.ts"

/**
 * The users of an agent's components, by the kind of their certificate. Each component has only its own rights, as on a
 * server.
 */
export const AGENT_IDENTITIES: Readonly<Record<string, (node: string) => Identity>> = {
  kubelet: nodeUser,
  "kube-proxy": () => ({ name: "system:kube-proxy" }),
  "pod-network": () => systemAccount("pod-network"),
  "network-policy": () => systemAccount("network-policy"),
  "local-storage": () => systemAccount("local-path-provisioner"),
  dns: () => systemAccount("kube-dns"),
  /** Reads the addresses of the API servers. */
  agent: () => ({ name: "system:k3ts-agent" }),
}

/** The parts that can be disabled and whose components have a certificate of their own, of the same name. */
const OPTIONAL = ["kube-proxy", "network-policy", "local-storage", "dns"]

/** Returns the kinds of certificates of an agent in a cluster in which some parts are disabled. */
export const certificateKinds = (disabled: readonly string[]): readonly string[] =>
  Object.keys(AGENT_IDENTITIES).filter((kind) => !OPTIONAL.includes(kind) || !disabled.includes(kind))

/** Returns the kind of the certificate of a user. @throws Error for a user that no agent has */
export function kindOf(user: string, node: string): string {
  const found = Object.entries(AGENT_IDENTITIES).find(([, identityOf]) => identityOf(node).name === user)
  if (found === undefined) throw new Error(`An agent has no certificate of the user ${user}`)
  return found[0]
}
