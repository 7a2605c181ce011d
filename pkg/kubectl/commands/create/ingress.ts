import { stringArrayFlag, stringFlag } from "../../command/flag.ts"
import { intOrString } from "./disruption-budget.ts"
import { filled, generator, metadataOf } from "./generator.ts"
import { sortedRecord } from "./sorted-record.ts"

const RULE = /^(?:[\w*\-.]*)(?:\/.*)=(?:[\w-]+):(?:[\w-]+)(?:,tls=?(?:[\w-]+)?)?/

/** Source: kubectl pkg/cmd/create/create_ingress.go. */
export const createIngressCommand = generator({
  use: "ingress NAME --rule=host/path=service:port[,tls[=secret]] ",
  aliases: ["ing"],
  short: "Create an ingress with the specified name",
  long: "Create an ingress with the specified name.",
  example: `
# Create an ingress called simple that sends foo.com/bar to port 8080 of svc1, with a certificate
kubectl create ingress simple --rule="foo.com/bar=svc1:8080,tls=my-cert"

# Create one for every host, of an ingress class
kubectl create ingress catch-all --class=otheringress --rule="/path=svc:port"

# Create one with all paths below a path
kubectl create ingress multipath --class=default --rule="foo.com/admin*=svcadmin:portadmin"

# Create one with annotations, and a service for whatever no rule matches
kubectl create ingress annotated --default-backend=defaultsvc:http --rule="foo.com/bar=svc:port" --annotation key=value`,
  flags: {
    class: stringFlag("", "The ingress class."),
    rule: stringArrayFlag(
      [],
      "A rule: host/path=service:port[,tls=secretname]. A path that ends with '*' stands for all below it (pathType Prefix).",
    ),
    "default-backend": stringFlag("", "The service for whatever no rule matches, as svcname:port."),
    annotation: stringArrayFlag([], "An annotation of the ingress, as annotation=value."),
  },
  apiVersion: "networking.k8s.io/v1",
  kind: "Ingress",
  resource: "ingresses",
  failure: "failed to create ingress:",
  make({ name, namespace, flags }) {
    const { class: className, rule: rules, "default-backend": fallback, annotation: annotations } = flags
    checkFlags(rules, fallback, annotations)
    return {
      metadata: metadataOf({
        name,
        namespace,
        annotations: sortedRecord(
          new Map(annotations.map((text) => [text.slice(0, text.indexOf("=")), text.slice(text.indexOf("=") + 1)])),
        ),
      }),
      spec: {
        ...filled("ingressClassName", className),
        ...(fallback === "" ? {} : { defaultBackend: backend(fallback) }),
        ...filled("tls", tlsOf(rules)),
        ...filled("rules", rulesOf(rules)),
      },
      status: { loadBalancer: {} },
    }
  },
})

function checkFlags(rules: readonly string[], fallback: string, annotations: readonly string[]): void {
  if (fallback === "" && rules.length === 0)
    throw new Error(
      "not enough information provided: every ingress has to either specify a default-backend (which catches all traffic) or a list of rules (which catch specific paths)",
    )
  for (const rule of rules)
    if (!RULE.test(rule))
      throw new Error(`rule ${rule} is invalid and should be in format host/path=svcname:svcport[,tls[=secret]]`)
  for (const annotation of annotations)
    if (!annotation.includes("="))
      throw new Error(`annotation ${annotation} is invalid and should be in format key=[value]`)
  if (fallback !== "" && fallback.split(":").length !== 2)
    throw new Error("default-backend should be in format servicename:serviceport")
}

/** Returns the certificates, with each host where it is named first. */
function tlsOf(rules: readonly string[]): readonly object[] {
  const all: { hosts?: string[]; secretName?: string }[] = []
  const seen = new Set<string>()
  for (const rule of rules) {
    const parts = rule.split(",")
    if (parts.length !== 2) continue
    const host = rule.split("/", 1)[0]!
    const secret = parts[1]!.split("=")[1] ?? ""
    if (seen.has(host)) continue
    seen.add(host)
    const same = all.find(({ secretName = "" }) => secretName === secret)
    if (same !== undefined) same.hosts = [...(same.hosts ?? []), host]
    else if (host !== "" || secret !== "")
      all.push({ ...(host === "" ? {} : { hosts: [host] }), ...filled("secretName", secret) })
  }
  return all
}

/** Returns the rules, with all paths of a host together. */
function rulesOf(rules: readonly string[]): readonly object[] {
  const byHost = new Map<string, object[]>()
  for (const rule of rules) {
    const [target] = rule.split(",", 1)
    const at = target!.indexOf("/")
    const host = target!.slice(0, at)
    const paths = byHost.get(host) ?? []
    byHost.set(host, paths)
    paths.push(pathOf(target!.slice(at + 1)))
  }
  return [...byHost].map(([host, paths]) => ({ ...filled("host", host), http: { paths } }))
}

function pathOf(text: string): object {
  const [end = "", service = ""] = text.split("=")
  const isPrefix = `/${end}`.endsWith("*")
  return {
    path: isPrefix ? `/${end.slice(0, -1)}` : `/${end}`,
    pathType: isPrefix ? "Prefix" : "Exact",
    backend: backend(service),
  }
}

function backend(text: string): object {
  const [name = "", port = ""] = text.split(":")
  const value = intOrString(port)
  return { service: { name, port: typeof value === "number" ? { number: value } : { name: value } } }
}
