import { command } from "../../command/command.ts"
import { boolFlag } from "../../command/flag.ts"
import { flattened, minified, redacted } from "../../config/redact.ts"
import { kubeconfigObject, startingConfig } from "../../config/write-kubeconfig.ts"
import { printerOf, printFlags } from "../../printers/print-flags.ts"

export const viewCommand = command({
  use: "view",
  short: "Display the kubeconfig, merged",
  long: `
Display the kubeconfig as it results from all of its files, or from the one that is named.

 With --output jsonpath={...} you get single values of it.`,
  example: `
# Show the kubeconfig
kubectl config view

# Show it with the data of certificates and with secrets
kubectl config view --raw

# Get the password of the user e2e
kubectl config view -o jsonpath='{.users[?(@.name == "e2e")].user.password}'`,
  flags: {
    ...printFlags("yaml"),
    flatten: boolFlag(
      false,
      "Put the content of files in place of their paths, so that the output is complete in itself",
    ),
    merge: boolFlag(true, "Merge all files that are read"),
    minify: boolFlag(false, "Leave out what the current context does not use"),
    raw: boolFlag(false, "Show the data of certificates and secrets"),
  },
  async run({ flags, changed, args, globals, usageError, factory, environment, out }) {
    if (args.length > 0) throw usageError(`unexpected arguments: [${args.join(" ")}]`)
    const { rules } = factory.config
    const isExplicit = rules.explicit !== ""
    const isMerged = !changed("merge") || flags.merge
    const printer = await printerOf(flags, "", {
      readFile: (path) => factory.readFile(path),
      outputIsSet: changed("output"),
    })
    if (!isMerged && !isExplicit) throw new Error("if merge==false a precise file must be specified")
    let config = isMerged ? await startingConfig(rules) : await rules.read(rules.explicit)
    if (flags.minify)
      config = minified(globals.context === "" ? config : { ...config, currentContext: globals.context })
    if (flags.flatten) config = await flattened(config, environment)
    else if (!flags.raw) config = redacted(config)
    await printer.print(kubeconfigObject(config), out)
  },
})
