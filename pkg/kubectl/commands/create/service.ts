import { parseUint16 } from "../../../apimachinery/go/go-text.ts"
import { isDNS1123Subdomain, isPortName, isPortNumber, oneProblem } from "../../../apimachinery/validation/names.ts"
import { command, type Command } from "../../command/command.ts"
import { defaultSubCommand } from "../../command/default-sub-command.ts"
import { intFlag, stringFlag, stringSliceFlag } from "../../command/flag.ts"
import { filled, generator, metadataOf, type ObjectFields } from "./generator.ts"

const tcpFlag = () => ({
  tcp: stringSliceFlag([], "A port, or a port and the one of the pods: '<port>:<targetPort>'."),
})

const SERVICE = { apiVersion: "v1", kind: "Service", resource: "services", ignoresSaveConfig: true } as const

const clusterIp: Command = generator({
  use: "clusterip NAME [--tcp=<port>:<targetPort>] [--dry-run=server|client|none]",
  short: "Create a ClusterIP service",
  long: "Create a ClusterIP service with the specified name.",
  example: `
# Create a ClusterIP service called my-cs
kubectl create service clusterip my-cs --tcp=5678:8080

# Create one without an address of its own
kubectl create service clusterip my-cs --clusterip="None"`,
  flags: {
    ...tcpFlag(),
    clusterip: stringFlag("", "The address of the service; 'None' for one without (headless)."),
  },
  ...SERVICE,
  failure: "failed to create ClusterIP service:",
  make: ({ flags, ...parts }) => service({ ...parts, type: "ClusterIP", tcp: flags.tcp, clusterIP: flags.clusterip }),
})

const nodePort: Command = generator({
  use: "nodeport NAME [--tcp=port:targetPort] [--dry-run=server|client|none]",
  short: "Create a NodePort service",
  long: "Create a NodePort service with the specified name.",
  example: `
# Create a NodePort service called my-ns
kubectl create service nodeport my-ns --tcp=5678:8080`,
  flags: { "node-port": intFlag(0, "The port of each node."), ...tcpFlag() },
  ...SERVICE,
  failure: "failed to create NodePort service:",
  make: ({ flags, ...parts }) => service({ ...parts, type: "NodePort", tcp: flags.tcp, nodePort: flags["node-port"] }),
})

const loadBalancer: Command = generator({
  use: "loadbalancer NAME [--tcp=port:targetPort] [--dry-run=server|client|none]",
  short: "Create a LoadBalancer service",
  long: "Create a LoadBalancer service with the specified name.",
  example: `
# Create a LoadBalancer service called my-lbs
kubectl create service loadbalancer my-lbs --tcp=5678:8080`,
  flags: tcpFlag(),
  ...SERVICE,
  failure: "failed to create LoadBalancer service:",
  make: ({ flags, ...parts }) => service({ ...parts, type: "LoadBalancer", tcp: flags.tcp }),
})

const externalName: Command = generator({
  use: "externalname NAME --external-name external.name [--dry-run=server|client|none]",
  short: "Create an ExternalName service",
  long: `
Create an ExternalName service with the specified name.

 It stands for a name outside of the cluster, so that clients need not know where a service runs.`,
  example: `
# Create an ExternalName service called my-ns
kubectl create service externalname my-ns --external-name bar.com`,
  flags: { ...tcpFlag(), "external-name": stringFlag("", "The name that the service stands for.") },
  required: ["external-name"],
  ...SERVICE,
  failure: "failed to create ExternalName service:",
  make: ({ flags, ...parts }) =>
    service({ ...parts, type: "ExternalName", tcp: flags.tcp, externalName: flags["external-name"] }),
})

/** Source: kubectl pkg/cmd/create/create_service.go. */
export const createServiceCommand = command({
  use: "service",
  aliases: ["svc"],
  short: "Create a service using a specified subcommand",
  long: "Create a service using a specified subcommand.",
  commands: [clusterIp, externalName, loadBalancer, nodePort],
  run: defaultSubCommand("errOut"),
})

function service(parts: {
  readonly name: string
  readonly namespace: string | undefined
  readonly type: string
  readonly tcp: readonly string[]
  readonly clusterIP?: string
  readonly nodePort?: number
  readonly externalName?: string
}): ObjectFields {
  const { name, namespace, type, tcp, clusterIP = "", nodePort: port = 0, externalName: target = "" } = parts
  if (clusterIP !== "None" && tcp.length === 0 && type !== "ExternalName")
    throw new Error("at least one tcp port specifier must be provided")
  if (type === "ExternalName" && isDNS1123Subdomain(target) !== undefined)
    throw new Error(`invalid service external name ${target}`)
  return {
    metadata: metadataOf({ name, namespace, labels: { app: name } }),
    spec: {
      ...filled(
        "ports",
        tcp.map((text) => ({
          name: text.replaceAll(":", "-"),
          protocol: "TCP",
          ...portsIn(text),
          ...(port === 0 ? {} : { nodePort: port }),
        })),
      ),
      selector: { app: name },
      ...filled("clusterIP", clusterIP),
      type,
      ...filled("externalName", target),
    },
    status: { loadBalancer: {} },
  }
}

function portsIn(text: string): { readonly port: number; readonly targetPort: number | string } {
  const [first = "", second] = text.split(":")
  const port = parseUint16(first)
  if (second === undefined) return { port, targetPort: port }
  const number = /^[+-]?\d+$/.test(second) ? Number(second) : undefined
  const problem = number === undefined ? isPortName(second) : isPortNumber(number)
  if (problem !== undefined) throw new Error(oneProblem(problem, ","))
  return { port, targetPort: number ?? second }
}
