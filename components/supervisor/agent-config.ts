import { z } from "zod"

/** What a node must know of its cluster: the values of those server flags that hold for all nodes. */
export const AgentConfig = z.object({
  /** CIDRs of the pods, one for each IP family. */
  clusterCidrs: z.array(z.string()).min(1),
  serviceCidrs: z.array(z.string()).min(1),
  clusterDns: z.array(z.string()),
  clusterDomain: z.string(),
  /** How packets of pods reach other nodes: the server's flags --flannel-… */
  betweenNodes: z.object({ backend: z.string(), external: z.boolean(), masqueradesIPv6: z.boolean() }),
  /** Names of the components that --disable leaves out on every node. */
  disabled: z.array(z.string()),
  /** PEM of the CAs whose client certificates the kubelet accepts. */
  clientCa: z.string(),
  /** Kinds of certificates that this node needs. */
  certificates: z.array(z.string().regex(/^[a-z-]{1,40}$/)),
  /** The API servers, as `host:port`. */
  servers: z.array(z.string()),
})
export type AgentConfig = Readonly<z.output<typeof AgentConfig>>
