import { command } from "../../command/command.ts"
import { NEWEST_VERSION, type Preference } from "../../preferences/preference.ts"
import { printerOf, printFlags } from "../../printers/print-flags.ts"
import { typedObject } from "../../printers/printer.ts"
import type { Unstructured } from "../../rest/json.ts"
import { inOrder, kubercFile, kubercFileFlag, parseKuberc, readKuberc, saveKuberc } from "./kuberc-file.ts"

/** What is recommended to begin with. */
const RECOMMENDED: Preference = {
  apiVersion: NEWEST_VERSION,
  kind: "Preference",
  defaults: [
    { command: "apply", options: [{ name: "server-side", default: "true" }] },
    { command: "delete", options: [{ name: "interactive", default: "true" }] },
  ],
}

/** Source: kubectl pkg/cmd/kuberc/view.go. */
export const kubercViewCommand = command({
  use: "view",
  noFlagsInUse: true,
  short: "Display the current kuberc configuration",
  long: `
Display the preferences in a format of your choice.`,
  example: `
# View the preferences as YAML
kubectl kuberc view

# View them as JSON
kubectl kuberc view --output json

# View those of another file
kubectl kuberc view --kuberc /path/to/kuberc`,
  flags: { ...kubercFileFlag(), ...printFlags("yaml") },
  async run({ flags, changed, environment, factory, out }) {
    const { path, isExplicit } = kubercFile(environment, flags.kuberc)
    const text = await readKuberc(environment, path)
    if (text === undefined) {
      if (isExplicit) throw new Error(`kuberc file not found at ${path}`)
      await out.write(`kuberc file not found at ${path}\n`)
      await out.write("Would you like to generate a default kuberc file with recommended options? (y/N): ")
      if ((await answerOf(environment.stdin)).toLowerCase() === "y")
        await saveKuberc(environment, RECOMMENDED, path, out)
      return
    }
    const printer = await printerOf(flags, "", {
      readFile: (name) => factory.readFile(name),
      outputIsSet: changed("output"),
    })
    await printer.print(typedObject(inOrder(parseKuberc(text), []) as Unstructured), out)
  },
})

async function answerOf(input: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ""
  for await (const part of input) {
    text += decoder.decode(part, { stream: true })
    if (text.includes("\n")) break
  }
  return text.split("\n", 1)[0]!.trim()
}
