import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { contains, parseAddress, parseNetwork } from "../../apimachinery/addresses/cidr.ts"
import { finding, nameOf, type Finding } from "../answer.ts"
import { askThrough, type Ward } from "../doctor.ts"
import type { Unreached } from "../pod/host-words.ts"
import { NODES, PODS, refOf } from "../reading/kinds.ts"
import { flowFinding } from "./policies.ts"

/**
 * Returns why a program does not reach the address of a pod: the pod is not well, does not listen there, or is gone;
 * empty for other addresses.
 */
export async function podAddressFinding(
  source: Pod,
  { host, port, refused }: Unreached,
  ward: Ward,
): Promise<readonly Finding[]> {
  const address = parseAddress(host)
  if (address === undefined) return []
  const pods = (await ward.reader.listIfAllowed(PODS)) ?? []
  const target = pods.find(
    ({ status, spec }) =>
      spec.hostNetwork !== true && status.podIP === host && !["Succeeded", "Failed"].includes(status.phase ?? ""),
  )
  if (target !== undefined) {
    const behind = (await askThrough(ward, refOf(target))).findings
    if (behind.length > 0) return behind
    const dropped =
      refused || port === undefined
        ? undefined
        : await flowFinding(source, [target], { name: nameOf(refOf(target)), port }, ward)
    if (dropped !== undefined) return [dropped]
    return refused && port !== undefined
      ? [
          finding(
            "address-refused",
            `${nameOf(refOf(target))}, which has address ${host}, does not listen on port ${port}`,
            {
              hints: ["correct the port; and ask by the name of a Service, since a pod made anew has another address"],
            },
          ),
        ]
      : []
  }
  const nodes = (await ward.reader.listIfAllowed(NODES)) ?? []
  const node = nodes.find(({ spec }) =>
    [...(spec.podCIDRs ?? []), ...(spec.podCIDR === undefined ? [] : [spec.podCIDR])].some((range) => {
      const network = parseNetwork(range)
      return network !== undefined && contains(network, address)
    }),
  )
  return node === undefined
    ? []
    : [
        finding(
          "address-of-no-pod",
          `${host} is an address for pods of node ${node.metadata.name ?? ""}, and no pod has it: a pod that is made anew gets another one`,
          { hints: ["ask by the name of a Service, which leads to the pods that there are"] },
        ),
      ]
}
