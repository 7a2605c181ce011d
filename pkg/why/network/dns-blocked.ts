import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { finding, type Finding } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { POLICIES } from "../reading/kinds.ts"
import { directionsOf, selectsPod, type Peer } from "./policies.ts"

/** The port of DNS servers. */
const DNS = 53

/** Returns which NetworkPolicy keeps a pod from all DNS servers; undefined when none does. */
export async function dnsBlockedFinding(pod: Pod, line: string, ward: Ward): Promise<Finding | undefined> {
  if (pod.spec.hostNetwork === true) return undefined
  const policies = (await ward.reader.list(POLICIES, pod.metadata.namespace)).filter(
    (policy) => directionsOf(policy).includes("Egress") && selectsPod(policy, pod),
  )
  const [first] = policies
  // Which address of DNS a rule lets the pod reach is not known here: any rule that may mean it is enough.
  const allows = policies.some(({ spec }) =>
    (spec.egress ?? []).some(
      ({ to = [], ports = [] }) =>
        (to.length === 0 || to.some((peer) => mayBeDns(peer, pod))) &&
        (ports.length === 0 ||
          ports.some(({ port, endPort, protocol = "TCP" }) => {
            if (protocol !== "UDP") return false
            return port === undefined || port === "dns" || (Number(port) <= DNS && DNS <= (endPort ?? Number(port)))
          })),
    ),
  )
  if (first === undefined || allows) return undefined
  const { name = "", namespace = "" } = first.metadata
  return finding(
    "network-policy",
    `pod ${namespace}/${pod.metadata.name} cannot ask DNS: NetworkPolicy ${namespace}/${name} selects it for egress, ` +
      "and no rule lets it out to UDP port 53",
    { evidence: [`log: ${line.trim()}`], hints: ["add an egress rule for UDP and TCP port 53 to the cluster's DNS"] },
  )
}

/** Whether DNS may be among the peers of a rule: pods of the policy's own namespace are not it, but in kube-system. */
const mayBeDns = ({ ipBlock, namespaceSelector }: Peer, { metadata }: Pod): boolean =>
  ipBlock !== undefined || namespaceSelector !== undefined || metadata.namespace === "kube-system"
