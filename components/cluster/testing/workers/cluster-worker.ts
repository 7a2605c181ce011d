/** The thread of a worker of `runClusters`: runs the drill once for each seed that comes in. */
import { parentPort, workerData } from "node:worker_threads"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"
import { TestClusterError } from "../caller.ts"
import { sentError, type Answer, type Message, type WorkerSettings } from "./messages.ts"
import { loadDrill, runSeed } from "./run-seed.ts"

// Only `runClusters` starts this thread, and gives it its settings.
const { module } = workerData as WorkerSettings
const port = parentPort!
const loading = loadDrill(module)
// Told in the answer to each seed.
loading.catch(() => undefined)

port.on("message", (seed: number) => {
  const answer = loading.then(
    (drill) => {
      port.postMessage({ seed, begins: true } satisfies Message)
      return runSeed(drill, seed)
    },
    (err: unknown): Answer => ({ seed, error: sentError(err), report: undefined }),
  )
  void answer.then((said) => {
    try {
      port.postMessage(said)
    } catch (err) {
      const why = `Cannot return the result of seed ${seed} from its worker, since it is no plain data: ${errorMessage(err)}`
      port.postMessage({ seed, error: sentError(new TestClusterError(why)), report: undefined } satisfies Answer)
    }
  })
})
