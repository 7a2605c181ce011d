import type { Pod } from "../../api/core/v1/pod/pod.ts"
import type { Service } from "../../api/core/v1/service/service.ts"
import { finding, type Finding } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { NODES } from "../reading/kinds.ts"

/** Returns which nodes answer from outside, where not all do: those without a ready pod drop what comes. */
export async function externalTrafficNotes(
  { spec }: Service,
  ready: readonly Pod[],
  { reader }: Ward,
): Promise<readonly Finding[]> {
  if (spec.externalTrafficPolicy !== "Local") return []
  const nodes = (await reader.listIfAllowed(NODES)) ?? []
  const answering = new Set(ready.map((pod) => pod.spec.nodeName ?? ""))
  const silent = nodes.map(({ metadata }) => metadata.name ?? "").filter((name) => !answering.has(name))
  if (silent.length === 0) return []
  return [
    finding(
      "external-traffic-local",
      `from outside only ${[...answering].join(", ")} ${answering.size === 1 ? "answers" : "answer"}: ` +
        `externalTrafficPolicy is Local, and the other ${silent.length === 1 ? "node has" : `${silent.length} nodes have`} no ready pod of it`,
      { weight: "note" },
    ),
  ]
}
