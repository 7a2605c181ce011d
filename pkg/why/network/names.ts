import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { nearest } from "../../names/suggest.ts"
import { finding, type Finding } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { podNameFinding } from "./pod-names.ts"
import { SERVICES } from "../reading/kinds.ts"

/** The zone of names in a cluster, unless it was configured otherwise. */
const ZONE = "cluster.local"

/** Words for a question that nobody answered, unlike the answer that there is no such name. */
const NO_ANSWER = /EAI_AGAIN|temporary failure|try again|timed? ?out|server misbehaving|SERVFAIL/i

/** The Service that a name in a pod's namespace means, if it is a name of the cluster. */
export function serviceNamed(
  host: string,
  namespace: string,
): { readonly name: string; readonly namespace: string } | undefined {
  const [name = "", where, svc, ...rest] = host.replace(/\.$/, "").split(".")
  if (where === undefined) return { name, namespace }
  if (svc === undefined || (svc === "svc" && (rest.length === 0 || rest.join(".") === ZONE)))
    return { name, namespace: where }
  return undefined
}

/** Returns why a name does not resolve in a pod; undefined where nothing can be told. */
export async function nameFinding(pod: Pod, host: string, line: string, ward: Ward): Promise<Finding | undefined> {
  const { namespace = "" } = pod.metadata
  const policy = pod.spec.dnsPolicy ?? "ClusterFirst"
  const evidence = [`log: ${line.trim()}`]
  const meant = serviceNamed(host, namespace)
  const ofPod = await podNameFinding(host, namespace, line, ward)
  if (ofPod !== undefined) return ofPod
  const services = await ward.reader.list(SERVICES)
  const usesCluster =
    policy === "ClusterFirst" && pod.spec.hostNetwork !== true ? true : policy === "ClusterFirstWithHostNet"
  const there = services.find(
    ({ metadata }) => metadata.name === meant?.name && metadata.namespace === meant?.namespace,
  )
  if (there !== undefined && !usesCluster)
    return finding(
      "dns-policy",
      `${host} is a name of the cluster, and the pod does not ask the cluster's DNS: dnsPolicy ${policy}` +
        (pod.spec.hostNetwork === true ? " with hostNetwork" : ""),
      {
        evidence,
        hints: [`set dnsPolicy: ${pod.spec.hostNetwork === true ? "ClusterFirstWithHostNet" : "ClusterFirst"}`],
      },
    )
  if (there !== undefined)
    return finding(
      "dns-failed",
      `${host} is Service ${meant!.namespace}/${meant!.name}, which exists now; perhaps it did not when the pod asked, or DNS does not answer`,
      { evidence, sure: false },
    )
  const same = services.filter(({ metadata }) => metadata.name === (meant?.name ?? host.split(".")[0]))
  const near = nearest(
    meant?.name ?? host.split(".")[0]!,
    services
      .filter(({ metadata }) => metadata.namespace === (meant?.namespace ?? namespace))
      .map(({ metadata }) => metadata.name ?? ""),
  )
  const [other] = same
  const searched = usesCluster ? `; the pod looks in ${namespace}.svc.${ZONE}, svc.${ZONE} and ${ZONE}` : ""
  if (meant !== undefined && (meant.namespace === namespace || other !== undefined || near !== undefined))
    return finding(
      "name-not-found",
      `the name ${host} does not resolve: there is no Service ${meant.name} in namespace ${meant.namespace}` +
        (other !== undefined
          ? `, but one in ${other.metadata.namespace}: ask for ${meant.name}.${other.metadata.namespace}`
          : near !== undefined
            ? `, but one named ${near}`
            : searched),
      { evidence },
    )
  if (NO_ANSWER.test(line))
    return finding(
      "dns-failed",
      `DNS gave no answer for ${host}; perhaps the servers that it asks for names outside of the cluster cannot be reached`,
      { evidence, sure: false },
    )
  return finding("name-not-found", `the name ${host} does not resolve: DNS has no record of it`, {
    evidence,
    hints: ["check the name; for names outside of the cluster see docs/dns.md: the node's own servers are asked"],
  })
}
