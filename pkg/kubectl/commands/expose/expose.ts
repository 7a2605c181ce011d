import { errorMessage } from "../../../errors/error-message.ts"
import { command, type Invocation } from "../../command/command.ts"
import { stringFlag } from "../../command/flag.ts"
import {
  dryRunFlag,
  dryRunOf,
  fieldManagerFlag,
  filenameFlags,
  filenameOptions,
  saveConfigFlag,
  type DryRun,
  withDryRun,
} from "../../command/shared-flags.ts"
import { printerOf, printFlags } from "../../printers/print-flags.ts"
import { typedAnswer } from "../../printers/typed-answer.ts"
import { typedObject } from "../../printers/printer.ts"
import { Helper } from "../../resource/helper.ts"
import type { Info } from "../../resource/info.ts"
import type { Unstructured } from "../../rest/json.ts"
import { annotated, filled, metadataOf } from "../create/generator.ts"
import { goAtoi, parseLabelSpecs } from "../create/label-specs.ts"
import { overridden, overrideFlags } from "../create/overrides.ts"
import { recorded, recordFlag } from "../record.ts"
import { checkExposable, labelsText, portsOf, selectorOf } from "./exposable.ts"
import { KUBECTL_SCHEME } from "../../resource/scheme-names.ts"

const NAME_LENGTH = 63

const flags = {
  ...printFlags(),
  ...recordFlag(),
  protocol: stringFlag("", "The protocol of the ports. The default is 'TCP'."),
  port: stringFlag("", "The port of the service. Without it, that of the exposed resource."),
  type: stringFlag(
    "",
    "The type of the service: ClusterIP, NodePort, LoadBalancer, or ExternalName. The default is 'ClusterIP'.",
  ),
  "load-balancer-ip": stringFlag("", "The address of the load balancer. Without it, the cloud provider chooses one."),
  selector: stringFlag(
    "",
    "Labels key=value between commas by which pods are found, instead of those of the resource.",
  ),
  labels: stringFlag("", "The labels of the service.", { shorthand: "l" }),
  "target-port": stringFlag("", "The name or number of the container's port, where it is not that of the service."),
  "external-ip": stringFlag("", "A further address of the service, which Kubernetes does not manage."),
  name: stringFlag("", "The name of the service."),
  "session-affinity": stringFlag("", "The session affinity of the service: 'None' or 'ClientIP'."),
  "cluster-ip": stringFlag(
    "",
    "The address in the cluster; 'None' for a headless service. Without it, the server chooses.",
  ),
  ...fieldManagerFlag("kubectl-expose"),
  ...overrideFlags(),
  ...dryRunFlag(),
  ...saveConfigFlag(),
  ...filenameFlags("with the resource to expose"),
}

type ExposeInvocation = Invocation<typeof flags>

/** Source: kubectl pkg/cmd/expose/expose.go. */
export const exposeCommand = command({
  use: "expose (-f FILENAME | TYPE NAME) [--port=port] [--protocol=TCP|UDP|SCTP] [--target-port=number-or-name] [--name=name] [--external-ip=external-ip-of-service] [--type=type]",
  noFlagsInUse: true,
  short: "Take a replication controller, service, deployment or pod and expose it as a new Kubernetes service",
  long: `
Make a service for the pods of a resource.

 It is looked up by name, and its selector becomes that of a new service with the port that is given. A deployment or replica set can be exposed only if its selector is made of labels alone. Without --port, the ports of the resource are taken. Without --labels, so are its labels.`,
  example: `
# Make a service for a replication controller, which serves on port 80 and uses port 8000 of the containers
kubectl expose rc nginx --port=80 --target-port=8000

# The same for the replication controller that "nginx-controller.yaml" names
kubectl expose -f nginx-controller.yaml --port=80 --target-port=8000

# Make a service called frontend for a pod
kubectl expose pod valid-pod --port=444 --name=frontend

# Make a second service from one
kubectl expose service nginx --port=443 --target-port=8443 --name=nginx-https

# Make a service with UDP called video-stream
kubectl expose rc streamer --port=4100 --protocol=UDP --name=video-stream

# Make a service for a replica set
kubectl expose rs nginx --port=80 --target-port=8000

# Make a service for a deployment
kubectl expose deployment nginx --port=80 --target-port=8000`,
  flags,
  run,
})

/** What the first of several objects settles for those after it too, as in kubectl. */
interface Settled {
  selector: string
  labels: string
  port: string
  ports: string
  protocols: ReadonlyMap<string, readonly string[]>
}

async function run(invocation: ExposeInvocation): Promise<void> {
  const { flags: values, args, factory, out } = invocation
  const dryRun = dryRunOf(values["dry-run"], factory.log)
  const printer = await printerOf(values, withDryRun("exposed", dryRun), factory)
  const { namespace, explicit } = await factory.namespace()
  const result = await factory.build({
    args,
    files: filenameOptions(values),
    scheme: KUBECTL_SCHEME,
    namespace,
    defaultNamespace: true,
    enforceNamespace: explicit,
    continueOnError: true,
    flatten: true,
  })
  const { selector, labels, port } = values
  const settled: Settled = { selector, labels, port, ports: "", protocols: new Map() }
  await result.visit(async (info) => {
    settle(info, settled, values["cluster-ip"] === "None")
    const service = await overridden(serviceOf(info.name.slice(0, NAME_LENGTH), settled, invocation), values)
    await printer.print(await create(invocation, recorded(service, invocation), dryRun), out)
  })
}

function settle({ loaded: object }: Info, settled: Settled, isHeadless: boolean): void {
  checkExposable(object)
  if (settled.selector === "")
    try {
      settled.selector = selectorOf(object)
    } catch (err) {
      throw new Error(`couldn't retrieve selectors via --selector flag or introspection: ${errorMessage(err)}`, {
        cause: err,
      })
    }
  const found = portsOf(object)
  if (settled.port === "") {
    const ports = [...found.keys()]
    if (ports.length === 0 && !isHeadless) throw new Error("couldn't find port via --port flag or introspection")
    if (ports.length === 1) settled.port = ports[0]!
    else if (ports.length > 1) settled.ports = ports.join(",")
  }
  if (found.size > 0) settled.protocols = found
  if (settled.labels === "") settled.labels = labelsText(object.metadata?.labels)
}

/** Makes the service, its fields in Go's order. */
function serviceOf(fallbackName: string, settled: Settled, { flags: values }: ExposeInvocation): Unstructured {
  if (settled.selector === "") throw new Error("selector must be specified")
  const selector = parseLabelSpecs(settled.selector)
  const labels = settled.labels === "" ? {} : parseLabelSpecs(settled.labels)
  const name = values.name === "" ? fallbackName : values.name
  const { type, "session-affinity": affinity } = values
  const ports = servicePorts(settled, values.protocol, values["target-port"])
  if (!["", "None", "ClientIP"].includes(affinity)) throw new Error(`unknown session affinity: ${affinity}`)
  return {
    kind: "Service",
    apiVersion: "v1",
    metadata: metadataOf({ name, labels }),
    spec: {
      ...filled("ports", ports),
      selector,
      ...filled("clusterIP", values["cluster-ip"]),
      ...filled("type", type),
      ...(values["external-ip"] === "" ? {} : { externalIPs: [values["external-ip"]] }),
      ...filled("sessionAffinity", affinity),
      ...(type === "LoadBalancer" ? filled("loadBalancerIP", values["load-balancer-ip"]) : {}),
    },
    status: { loadBalancer: {} },
  }
}

function servicePorts(settled: Settled, protocol: string, target: string): readonly object[] {
  const text = settled.ports === "" ? settled.port : settled.ports
  if (text === "") return []
  const all = text.split(",")
  return all.flatMap((one, index) => {
    const port = goAtoi(one)
    const targetPort = target === "" ? port : /^[+-]?\d+$/.test(target) ? Number(target) : target
    const known = protocol === "" ? (settled.protocols.get(one) ?? ["TCP"]) : [protocol]
    const base = all.length > 1 ? `port-${index + 1}` : ""
    return known.map((each) => ({
      ...filled("name", known.length > 1 ? `port-${index + 1}-${each.toLowerCase()}` : base),
      protocol: each,
      port,
      targetPort,
    }))
  })
}

async function create(
  { flags: values, factory }: ExposeInvocation,
  service: Unstructured,
  dryRun: DryRun,
): Promise<Unstructured> {
  const { namespace, explicit } = await factory.namespace()
  if (dryRun === "client") {
    const { name, ...metadata } = service.metadata ?? {}
    const placed = { ...(name === undefined ? {} : { name }), ...(explicit ? { namespace } : {}), ...metadata }
    return typedObject({ ...service, metadata: placed })
  }
  const helper = new Helper(await factory.client(), {
    resource: { group: "", version: "v1", resource: "services" },
    kind: { group: "", version: "v1", kind: "Service" },
    namespaced: true,
  })
  const answer = await helper.create(namespace, values["save-config"] ? annotated(service) : service, {
    fieldManager: values["field-manager"],
    serverDryRun: dryRun === "server",
  })
  return typedAnswer(answer, values.output)
}
