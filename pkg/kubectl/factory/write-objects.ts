import { join } from "node:path"
import { writeYaml } from "../../yaml/write.ts"
import type { Files } from "../environment/files.ts"
import { readDocuments } from "../resource/documents.ts"
import { parseGroupVersion, type Unstructured } from "../rest/json.ts"

/** Writes each object of a text into a file of its own: `apps_v1_deployment_web.yaml`. Source: kustomize writer.go. */
export async function writeObjects(files: Files, folder: string, text: string): Promise<void> {
  const objects = [...readDocuments(text)] as Unstructured[]
  const several = new Set(objects.map(({ metadata }) => metadata?.namespace)).size > 1
  for (const object of objects) {
    const { group, version } = parseGroupVersion(object.apiVersion ?? "")
    const { name = "", namespace = "" } = object.metadata ?? {}
    const parts = [
      ...(several && namespace !== "" ? [namespace] : []),
      ...(group === "" ? [] : [group]),
      version,
      (object.kind ?? "").toLowerCase(),
      name.toLowerCase(),
    ]
    await files.write(join(folder, `${parts.join("_")}.yaml`), writeYaml(object))
  }
}
