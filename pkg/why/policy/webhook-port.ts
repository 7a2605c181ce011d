import type { Service } from "../../api/core/v1/service/service.ts"
import { finding, mend, nameOf, type Finding, type ObjectRef } from "../answer.ts"
import { command } from "../command.ts"

/** The port that is asked where clientConfig names none. */
const DEFAULT_PORT = 443

/** Returns that webhook number `index` of a configuration asks its Service at a port which this one does not have. */
export function webhookPortFinding(
  configuration: ObjectRef,
  index: number,
  { name, port = DEFAULT_PORT }: { readonly name: string; readonly port: number | undefined },
  service: Service,
): Finding | undefined {
  const ports = (service.spec.ports ?? []).filter(({ protocol = "TCP" }) => protocol === "TCP").map((one) => one.port)
  if (ports.includes(port) || service.spec.type === "ExternalName") return undefined
  const [only] = ports
  const path = `/webhooks/${index}/clientConfig/service/port`
  const what = `${service.metadata.namespace}/${service.metadata.name}`
  return finding(
    "webhook-port",
    `admission webhook ${name} of ${nameOf(configuration)} asks port ${port} of Service ${what}, which has ` +
      `${ports.join(", ") || "no port"}: nobody answers`,
    {
      mends:
        ports.length === 1
          ? [
              mend(
                command`kubectl patch ${configuration.kind.toLowerCase()} ${configuration.name} --type=json -p ${JSON.stringify([{ op: "add", path, value: only }])}`,
                `asks port ${only} instead`,
              ),
            ]
          : [],
    },
  )
}
