import { stringFlag, stringSliceFlag } from "../../command/flag.ts"
import { goJson } from "../../rest/json.ts"
import { filled, generator } from "./generator.ts"
import { addFiles } from "./key-values.ts"
import { appendHashFlag, SECRET, SecretData } from "./secret-data.ts"

const KEY = ".dockerconfigjson"

/** Source: kubectl pkg/cmd/create/create_secret_docker.go. */
export const createDockerRegistryCommand = generator({
  use: "docker-registry NAME --docker-username=user --docker-password=password --docker-email=email [--docker-server=string] [--from-file=[key=]source] [--dry-run=server|client|none]",
  short: "Create a secret for use with a Docker registry",
  long: `
Create a secret with which nodes pull images of a registry.

 It has what docker login writes to a file. Name it in imagePullSecrets of a pod or of its service account.`,
  example: `
# Create a secret called my-secret for a registry
kubectl create secret docker-registry my-secret --docker-server=DOCKER_REGISTRY_SERVER --docker-username=DOCKER_USER --docker-password=DOCKER_PASSWORD --docker-email=DOCKER_EMAIL

# Create it of the file that docker login has written
kubectl create secret docker-registry my-secret --from-file=path/to/.docker/config.json`,
  flags: {
    "docker-username": stringFlag("", "The name of the user at the registry."),
    "docker-password": stringFlag("", "The user's password at the registry."),
    "docker-email": stringFlag("", "The user's e-mail address at the registry."),
    "docker-server": stringFlag("https://index.docker.io/v1/", "The address of the registry."),
    ...appendHashFlag(),
    "from-file": stringSliceFlag([], `A file of docker login, as ${KEY}=path or as a path whose name is ${KEY}.`),
  },
  ...SECRET,
  async make({ name, namespace, flags, invocation: { factory } }) {
    const { "docker-username": username, "docker-password": password, "docker-server": server } = flags
    const files = flags["from-file"]
    if (files.length === 0 && (username === "" || password === "" || server === ""))
      throw new Error(
        "either --from-file or the combination of --docker-username, --docker-password and --docker-server is required",
      )
    const data = new SecretData()
    await addFiles(factory, files, data.add)
    if (files.length === 0) {
      const auth = Buffer.from(`${username}:${password}`).toString("base64")
      const login = { username, password, ...filled("email", flags["docker-email"]), auth }
      data.add(KEY, Buffer.from(goJson({ auths: { [server]: login } }, { sorted: false })))
    }
    return data.fields({
      name,
      namespace,
      type: "kubernetes.io/dockerconfigjson",
      appendHash: flags["append-hash"],
    })
  },
})
