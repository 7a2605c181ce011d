import { shownUrl } from "../config/rest-config.ts"
import { command } from "../command/command.ts"
import type { Unstructured } from "../rest/json.ts"

/** A Service, as far as its address is printed. */
interface Service extends Unstructured {
  readonly spec?: { readonly ports?: readonly { readonly name?: string; readonly port?: number }[] }
  readonly status?: {
    readonly loadBalancer?: { readonly ingress?: readonly { readonly ip?: string; readonly hostname?: string }[] }
  }
}

/** Source: kubectl pkg/cmd/clusterinfo/clusterinfo.go. */
export const clusterInfoCommand = command({
  use: "cluster-info",
  short: "Display addresses of the cluster",
  long: "Display the address of the control plane, and those of services with the label kubernetes.io/cluster-service=true. What helps to find faults of a cluster is printed by 'kubectl cluster-info dump'.",
  example: "# Print the addresses of the control plane and of services of the cluster\nkubectl cluster-info",
  commands: [
    {
      name: "dump",
      short: "Dump what helps to find faults of a cluster",
      load: () => import("./cluster-info-dump.ts").then((file) => file.dumpCommand),
    },
  ],
  async run({ globals, factory, out }) {
    const config = await factory.rest()
    const server = shownUrl(config.server, config).replace(/\/$/, "")
    const namespace = globals.namespace === "" ? "kube-system" : globals.namespace
    try {
      const result = await factory.build({
        args: ["services"],
        namespace,
        defaultNamespace: true,
        labelSelector: "kubernetes.io/cluster-service=true",
        latest: true,
      })
      await result.visit(async ({ loaded }) => {
        await out.write(`Kubernetes control plane is running at ${server}\n`)
        for (const service of (loaded["items"] ?? []) as readonly Service[])
          await out.write(`${labelOf(service)} is running at ${linkOf(service, server)}\n`)
      })
    } finally {
      await out.write("\nTo further debug and diagnose cluster problems, use 'kubectl cluster-info dump'.\n")
    }
  },
})

const labelOf = ({ metadata }: Service): string => metadata?.labels?.["kubernetes.io/name"] ?? metadata?.name ?? ""

function linkOf({ metadata, spec, status }: Service, server: string): string {
  const [ingress] = status?.loadBalancer?.ingress ?? []
  if (ingress !== undefined) {
    const host = ingress.ip ?? ingress.hostname ?? ""
    return (spec?.ports ?? []).map(({ port }) => `http://${host}:${port ?? 0} `).join("")
  }
  const [port] = spec?.ports ?? []
  const name = metadata?.name ?? ""
  return `${server}/api/v1/namespaces/${metadata?.namespace ?? ""}/services/${port === undefined ? name : portName(name, port)}/proxy`
}

/** Source: apimachinery pkg/util/net (JoinSchemeNamePort). */
function portName(service: string, { name = "", port }: { readonly name?: string; readonly port?: number }): string {
  const scheme = name === "https" || port === 443 ? "https" : ""
  if (scheme !== "") return `${scheme}:${service}:${name}`
  return name === "" ? service : `${service}:${name}`
}
