import { command, type CommandEntry } from "../../command/command.ts"
import { defaultSubCommand } from "../../command/default-sub-command.ts"

const entry = (name: string, short: string, load: CommandEntry["load"]): CommandEntry => ({ name, short, load })

/** Source: kubectl pkg/cmd/create/create_secret.go. */
export const createSecretCommand = command({
  use: "secret (docker-registry | generic | tls)",
  noFlagsInUse: true,
  short: "Create a secret using a specified subcommand",
  long: `
Create a secret of a type.

 docker-registry is for pulling images, generic is of the type Opaque, and tls has a certificate with its key.`,
  commands: [
    entry("docker-registry", "Create a secret for use with a Docker registry", () =>
      import("./secret-docker-registry.ts").then((file) => file.createDockerRegistryCommand),
    ),
    entry("generic", "Create a secret from a local file, directory, or literal value", () =>
      import("./secret-generic.ts").then((file) => file.createGenericCommand),
    ),
    entry("tls", "Create a TLS secret", () => import("./secret-tls.ts").then((file) => file.createTlsCommand)),
  ],
  run: defaultSubCommand("errOut"),
})
