import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { finding, nameOf, type Finding } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { refOf, SERVICES } from "../reading/kinds.ts"
import type { Unreached } from "../pod/host-words.ts"
import { portsIn } from "./service-pods.ts"

/** Whether a host is the pod itself. */
export const isOwnAddress = (host: string): boolean => /^(?:localhost|127(?:\.\d+){3}|::1)$/i.test(host)

/**
 * Returns that a program asks its own pod for what does not listen there, as one that was moved from a machine where
 * all ran together; empty where that is not known.
 */
export async function ownAddressFinding(
  pod: Pod,
  container: string,
  { host, port, refused }: Unreached,
  line: string,
  ward: Ward,
): Promise<readonly Finding[]> {
  if (!refused) return []
  const evidence = [`log: ${line.trim()}`]
  // A container that should listen there explains more by itself. Some programs do not tell the port.
  if (portsIn(pod).some(({ containerPort }) => port === undefined || containerPort === port)) return []
  const services = ((await ward.reader.listIfAllowed(SERVICES, pod.metadata.namespace)) ?? []).filter(({ spec }) =>
    spec.ports?.some((one) => one.port === port),
  )
  const there = services.map((one) => nameOf(refOf(one)))
  return [
    finding(
      "connection-to-itself",
      `the program of container ${container} asks ${host}${port === undefined ? "" : `:${port}`}, which is its own pod, and nothing listens there` +
        (there.length === 0 ? "" : `; ${there.join(" and ")} ${there.length === 1 ? "has" : "have"} this port`),
      {
        evidence,
        hints: [
          `what runs in other pods is reached by the name of its Service${services.length === 1 ? `: ${services[0]!.metadata.name}:${port}` : ""}`,
        ],
      },
    ),
  ]
}
