import { stringFlag } from "../../command/flag.ts"
import { generator } from "./generator.ts"
import { addEnvFiles, addFiles, addLiterals, checkSources, keyValueFlags } from "./key-values.ts"
import { appendHashFlag, SECRET, SecretData } from "./secret-data.ts"

/** Source: kubectl pkg/cmd/create/create_secret.go. */
export const createGenericCommand = generator({
  use: "generic NAME [--type=string] [--from-file=[key=]source] [--from-literal=key1=value1] [--dry-run=server|client|none]",
  short: "Create a secret from a local file, directory, or literal value",
  long: `
Create a secret of files, folders or values of the command line.

 A file becomes one key, which is the file's name unless you say another, with the content as the value. Of a folder, each file whose name may be a key becomes one; whatever is not a regular file is left out.`,
  example: `
# Create a secret called my-secret with a key for each file of the folder bar
kubectl create secret generic my-secret --from-file=path/to/bar

# The same with keys that are not the files' names
kubectl create secret generic my-secret --from-file=ssh-privatekey=path/to/id_rsa

# With values of the command line
kubectl create secret generic my-secret --from-literal=key1=supersecret --from-literal=key2=topsecret

# With the lines of files
kubectl create secret generic my-secret --from-env-file=path/to/foo.env --from-env-file=path/to/bar.env`,
  flags: {
    ...keyValueFlags("secret"),
    type: stringFlag("", "The type of the secret."),
    ...appendHashFlag(),
  },
  ...SECRET,
  async make({ name, namespace, flags, invocation: { factory } }) {
    const { "from-file": files, "from-literal": literals, "from-env-file": envFiles } = flags
    checkSources(files, literals, envFiles)
    const data = new SecretData()
    addLiterals(literals, data.add)
    await addFiles(factory, files, data.add)
    await addEnvFiles(factory, envFiles, "secret", data.add)
    return data.fields({ name, namespace, type: flags.type, appendHash: flags["append-hash"] })
  },
})
