import { stringFlag } from "../../command/flag.ts"
import { generator, metadataOf } from "./generator.ts"
import { podTemplate } from "./job.ts"

/** Source: kubectl pkg/cmd/create/create_cronjob.go. */
export const createCronJobCommand = generator({
  use: "cronjob NAME --image=image --schedule='0/5 * * * ?' -- [COMMAND] [args...]",
  aliases: ["cj"],
  flagsInUse: true,
  short: "Create a cron job with the specified name",
  long: "Create a cron job with the specified name.",
  example: `
# Create a cron job
kubectl create cronjob my-job --image=busybox --schedule="*/1 * * * *"

# Create a cron job with a command
kubectl create cronjob my-job --image=busybox --schedule="*/1 * * * *" -- date`,
  flags: {
    image: stringFlag("", "The image to run."),
    schedule: stringFlag("", "When the job runs, as Cron writes it."),
    restart: stringFlag("", "The restart policy of the pods: OnFailure or Never."),
  },
  required: ["image", "schedule"],
  apiVersion: "batch/v1",
  kind: "CronJob",
  resource: "cronjobs",
  failure: "failed to create cronjob:",
  make: ({ name, namespace, flags, words }) => ({
    metadata: metadataOf({ name, namespace }),
    spec: {
      schedule: flags.schedule,
      jobTemplate: {
        metadata: { name },
        spec: { template: podTemplate(name, flags.image, words, flags.restart || "OnFailure") },
      },
    },
    status: {},
  }),
})
