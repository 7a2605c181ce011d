import { Buffer } from "node:buffer"
import type { ConfigMap } from "../../api/core/v1/configmap.ts"
import type { Secret } from "../../api/core/v1/secret/secret.ts"
import type { Describer } from "./describing.ts"
import { describeEvents, involved, listEvents } from "./events.ts"
import { describeMetadata } from "./metadata.ts"
import { description } from "./prefix-writer.ts"

const SECRETS = { group: "", version: "v1", resource: "secrets" }
const CONFIG_MAPS = { group: "", version: "v1", resource: "configmaps" }

/** Describes a Secret by the sizes of its values; only a token of a ServiceAccount is shown. */
export const describeSecret: Describer = async ({ client }, namespace, name) => {
  const { metadata, type = "", data = {} } = await client.get<Secret>(SECRETS, namespace, name)
  return description((w) => {
    describeMetadata(w, metadata)
    w.write(0, `\nType:\t${type}\n`)
    w.write(0, "\nData\n====\n")
    for (const key of Object.keys(data).sort()) {
      const value = Buffer.from(data[key]!, "base64")
      const isToken = key === "token" && type === "kubernetes.io/service-account-token"
      w.row(0, `${key}:`, isToken ? value.toString() : `${value.length} bytes`)
    }
  })
}

export const describeConfigMap: Describer = async (describing, namespace, name) => {
  const configMap = await describing.client.get<ConfigMap>(CONFIG_MAPS, namespace, name)
  const { metadata, data = {}, binaryData = {} } = configMap
  const events = describing.showEvents ? await listEvents(describing, involved(configMap)) : undefined
  return description((w) => {
    describeMetadata(w, metadata)
    w.write(0, "\nData\n====\n")
    for (const key of Object.keys(data).sort()) {
      w.write(0, `${key}:\n----\n`)
      w.write(0, `${data[key]}\n`)
      w.write(0, "\n")
    }
    w.write(0, "\nBinaryData\n====\n")
    for (const key of Object.keys(binaryData).sort())
      w.row(0, `${key}: ${Buffer.from(binaryData[key]!, "base64").length} bytes`)
    w.write(0, "\n")
    describeEvents(w, events, describing.now())
  })
}
