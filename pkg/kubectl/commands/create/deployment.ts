import { nameSuffix, type Random } from "../../../clock/random.ts"
import { int32Flag, stringSliceFlag } from "../../command/flag.ts"
import { filled, generator, metadataOf } from "./generator.ts"

/** Source: kubectl pkg/cmd/create/create_deployment.go. */
export const createDeploymentCommand = generator({
  use: "deployment NAME --image=image -- [COMMAND] [args...]",
  aliases: ["deploy"],
  short: "Create a deployment with the specified name",
  long: "Create a deployment with the specified name.",
  example: `
# Create a deployment called my-dep that runs busybox
kubectl create deployment my-dep --image=busybox

# Create one with a command
kubectl create deployment my-dep --image=busybox -- date

# Create one with 3 replicas
kubectl create deployment my-dep --image=nginx --replicas=3

# Create one whose pods have port 5701
kubectl create deployment my-dep --image=busybox --port=5701

# Create one whose pods have several containers
kubectl create deployment my-dep --image=busybox:latest --image=ubuntu:latest --image=nginx`,
  flags: {
    image: stringSliceFlag([], "The images to run. Each one is a container of the pod."),
    port: int32Flag(-1, "The port of the container."),
    replicas: int32Flag(1, "The number of pods.", { shorthand: "r" }),
  },
  required: ["image"],
  apiVersion: "apps/v1",
  kind: "Deployment",
  resource: "deployments",
  failure: "failed to create deployment:",
  make({ name, namespace, flags, words, invocation: { environment } }) {
    const { image: images, port, replicas } = flags
    if (images.length > 1 && words.length > 0) throw new Error("cannot specify multiple --image options and command")
    const labels = { app: name }
    return {
      metadata: metadataOf({ name, namespace, labels }),
      spec: {
        replicas,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            containers: images.map((image, index) => ({
              name: containerName(image, environment.random),
              image,
              ...filled("command", words),
              ...(port >= 0 && index === 0 ? { ports: [{ containerPort: port }] } : {}),
              resources: {},
            })),
          },
        },
        strategy: {},
      },
      status: {},
    }
  },
})

/** Returns the last part of an image's name; where that cannot be a container's name, with a random end. */
function containerName(image: string, random: Random): string {
  const name = image.split("/").at(-1)!.split(":")[0]!.split("@")[0]!
  return /[_.]/.test(name) ? `${name.replace(/[_.]/g, "-")}-${nameSuffix(random)}` : name
}
