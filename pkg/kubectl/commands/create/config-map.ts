import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import { isConfigMapKey, oneProblem } from "../../../apimachinery/validation/names.ts"
import { boolFlag } from "../../command/flag.ts"
import { filled, generator, metadataOf } from "./generator.ts"
import { addEnvFiles, addFiles, addLiterals, checkSources, keyValueFlags, utf8Of } from "./key-values.ts"
import { hashedName } from "./name-hash.ts"
import { sortedRecord } from "./sorted-record.ts"

/** Source: kubectl pkg/cmd/create/create_configmap.go. */
export const createConfigMapCommand = generator({
  use: "configmap NAME [--from-file=[key=]source] [--from-literal=key1=value1] [--dry-run=server|client|none]",
  aliases: ["cm"],
  short: "Create a config map from a local file, directory or literal value",
  long: `
Create a config map of files, folders or values of the command line.

 A file becomes one key, which is the file's name unless you say another, with the content as the value. Of a folder, each file whose name may be a key becomes one; whatever is not a regular file is left out.`,
  example: `
# Create a config map called my-config with a key for each file of the folder bar
kubectl create configmap my-config --from-file=path/to/bar

# The same with keys that are not the files' names
kubectl create configmap my-config --from-file=key1=/path/to/bar/file1.txt --from-file=key2=/path/to/bar/file2.txt

# With values of the command line
kubectl create configmap my-config --from-literal=key1=config1 --from-literal=key2=config2

# With the lines of files
kubectl create configmap my-config --from-env-file=path/to/foo.env --from-env-file=path/to/bar.env`,
  flags: {
    ...keyValueFlags("config map"),
    "append-hash": boolFlag(false, "Append a hash of the config map to its name."),
  },
  apiVersion: "v1",
  kind: "ConfigMap",
  resource: "configmaps",
  failure: "failed to create configmap:",
  async make({ name, namespace, flags, invocation: { factory } }) {
    const { "from-file": files, "from-literal": literals, "from-env-file": envFiles } = flags
    checkSources(files, literals, envFiles)
    const data = new Map<string, string>()
    const binaryData = new Map<string, string>()
    const add = (key: string, value: Uint8Array) => {
      checkKey(key, name, data, binaryData)
      const text = utf8Of(value)
      if (text === undefined) binaryData.set(key, Buffer.from(value).toString("base64"))
      else data.set(key, text)
    }
    await addFiles(factory, files, add)
    addLiterals(literals, add)
    await addEnvFiles(factory, envFiles, "config", add)
    const [texts, bytes] = [sortedRecord(data), filled("binaryData", sortedRecord(binaryData))]
    const content = { kind: "ConfigMap", data: texts, ...bytes }
    return {
      metadata: metadataOf({ name: flags["append-hash"] ? hashedName(name, content) : name, namespace }),
      ...filled("data", texts),
      ...bytes,
    }
  },
})

function checkKey(
  key: string,
  name: string,
  data: ReadonlyMap<string, unknown>,
  binaryData: ReadonlyMap<string, unknown>,
): void {
  const problem = isConfigMapKey(key)
  if (problem !== undefined)
    throw new Error(`${goQuoted(key)} is not a valid key name for a ConfigMap: ${oneProblem(problem, ",")}`)
  for (const [field, known] of [
    ["Data", data],
    ["BinaryData", binaryData],
  ] as const)
    if (known.has(key))
      throw new Error(
        `cannot add key ${goQuoted(key)}, another key by that name already exists in ${field} for ConfigMap ${goQuoted(name)}`,
      )
}
