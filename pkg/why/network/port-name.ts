import type { Pod } from "../../api/core/v1/pod/pod.ts"
import type { Service } from "../../api/core/v1/service/service.ts"
import { nearest } from "../../names/suggest.ts"
import { finding, mend, type Finding } from "../answer.ts"
import { command } from "../command.ts"
import { isLedTo, portsIn, targetPortIn } from "./service-pods.ts"

type Port = NonNullable<Service["spec"]["ports"]>[number]

/** Returns that a port of a Service names a port that its pods do not have; undefined where each leads somewhere. */
export function portNameFinding(service: Service, pods: readonly Pod[]): Finding | undefined {
  for (const port of service.spec.ports ?? []) {
    if (typeof port.targetPort !== "string" || /^\d+$/.test(port.targetPort)) continue
    if (pods.some((pod) => targetPortIn(pod, port) !== undefined)) continue
    return portsIn(pods[0]!).some(({ name }) => name === port.targetPort)
      ? protocolFinding(port, pods[0]!)
      : nameFinding(service, port, pods[0]!)
  }
  return undefined
}

const shown = ({ name, containerPort }: ReturnType<typeof portsIn>[number]): string =>
  name === undefined ? String(containerPort) : `${name} (${containerPort})`

function nameFinding(service: Service, port: Port, pod: Pod): Finding {
  const there = portsIn(pod)
  const near = nearest(
    String(port.targetPort),
    there.flatMap(({ name }) => name ?? []),
  )
  const [only] = there.length === 1 ? there : []
  const wanted = near ?? only?.name ?? only?.containerPort
  const { name = "", namespace = "" } = service.metadata
  const index = (service.spec.ports ?? []).indexOf(port)
  const patch = JSON.stringify([{ op: "replace", path: `/spec/ports/${index}/targetPort`, value: wanted }])
  return finding(
    "service-target-port-name",
    `port ${port.port} goes to the port named ${JSON.stringify(port.targetPort)} of its pods, which have ` +
      (there.length === 0 ? "no ports" : `only ${there.map(shown).join(", ")}`),
    {
      // What another port of the Service leads to already is not what this one means.
      mends:
        wanted === undefined || isLedTo(service, port, pod, targetPortIn(pod, { ...port, targetPort: wanted }))
          ? []
          : [
              mend(
                command`kubectl patch service ${name} -n ${namespace} --type=json -p ${patch}`,
                `sends port ${port.port} to ${wanted}`,
              ),
            ],
      hints: ["or give a port of the container this name"],
    },
  )
}

function protocolFinding({ port, protocol = "TCP", targetPort }: Port, pod: Pod): Finding {
  const has = portsIn(pod).flatMap((one) => (one.name === targetPort ? (one.protocol ?? "TCP") : []))
  return finding(
    "service-target-port-protocol",
    `port ${port} goes by ${protocol} to the port named ${JSON.stringify(targetPort)} of its pods, which have it for ${has.join(", ")} only`,
    { hints: ["correct the protocol of the Service's port, or of the container's"] },
  )
}
