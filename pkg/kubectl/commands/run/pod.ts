import type { Unstructured } from "../../rest/json.ts"
import { filled, metadataOf } from "../create/generator.ts"
import { checkVariable } from "../create/key-values.ts"
import { goAtoi, parseLabelSpecs } from "../create/label-specs.ts"
import { sortedRecord } from "../create/sorted-record.ts"

/** What the flags of `run` say of the pod. */
export interface PodValues {
  readonly annotations: readonly string[]
  readonly image: string
  readonly "image-pull-policy": string
  readonly env: readonly string[]
  readonly port: string
  readonly labels: string
  readonly stdin: boolean
  readonly tty: boolean
  readonly "leave-stdin-open": boolean
  readonly command: boolean
  readonly privileged: boolean
}

/** Makes the pod of `run`, its fields in Go's order. Source: kubectl pkg/generate/versioned/run.go (BasicPod). */
export function podOf(name: string, words: readonly string[], values: PodValues, restartPolicy: string): Unstructured {
  const env = values.env.map(variable)
  const annotations = annotationsOf(values.annotations)
  const labels = values.labels === "" ? { run: name } : parseLabelSpecs(values.labels)
  const ports = values.port === "" ? [] : [{ containerPort: goAtoi(values.port) }]
  return {
    kind: "Pod",
    apiVersion: "v1",
    metadata: metadataOf({ name, labels, annotations }),
    spec: {
      containers: [
        {
          name,
          image: values.image,
          ...filled(values.command ? "command" : "args", words),
          ...filled("ports", ports),
          ...filled("env", env),
          resources: {},
          ...filled("imagePullPolicy", values["image-pull-policy"]),
          ...(values.privileged ? { securityContext: { privileged: true } } : {}),
          ...(values.stdin ? { stdin: true } : {}),
          ...(values.stdin && !values["leave-stdin-open"] ? { stdinOnce: true } : {}),
          ...(values.tty ? { tty: true } : {}),
        },
      ],
      restartPolicy,
      dnsPolicy: "ClusterFirst",
    },
    status: {},
  }
}

function variable(text: string): { readonly name: string; readonly value?: string } {
  const at = text.indexOf("=")
  const name = text.slice(0, Math.max(0, at))
  try {
    checkVariable(name)
  } catch (err) {
    throw new Error(`invalid env: ${text}`, { cause: err })
  }
  return { name, ...filled("value", text.slice(at + 1)) }
}

function annotationsOf(pairs: readonly string[]): Record<string, string> {
  const invalid = pairs.filter((pair) => pair.indexOf("=") < 1)
  if (invalid.length > 0) throw new Error(`invalid annotations format: ${invalid.join(", ")}`)
  return sortedRecord(
    new Map(
      pairs.map((pair) => {
        const at = pair.indexOf("=")
        return [pair.slice(0, at), pair.slice(at + 1)] as const
      }),
    ),
  )
}

/** Makes the Service of `run --expose`. Source: kubectl pkg/generate/versioned/service.go. */
export function serviceOf(name: string, { labels, port: text }: Pick<PodValues, "labels" | "port">): Unstructured {
  const selector = labels === "" ? { run: name } : parseLabelSpecs(labels)
  const port = goAtoi(text)
  return {
    kind: "Service",
    apiVersion: "v1",
    metadata: metadataOf({ name, ...(labels === "" ? {} : { labels: selector }) }),
    spec: { ports: [{ protocol: "TCP", port, targetPort: port }], selector },
    status: { loadBalancer: {} },
  }
}
