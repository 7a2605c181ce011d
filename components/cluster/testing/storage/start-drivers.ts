import { CSIDriver } from "../../../../pkg/api/storage/v1/csidriver.ts"
import { isAlreadyExists } from "../../../../pkg/apimachinery/errors.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import type { Controller } from "../../../../pkg/controller/controller.ts"
import { startController } from "../../../../pkg/controller/start.ts"
import { provisioner } from "../../../../pkg/provisioner/provisioner.ts"
import { reclaimer } from "../../../../pkg/provisioner/reclaimer.ts"
import { resizer } from "../../../../pkg/provisioner/resizer.ts"
import type { SimulatedDriver } from "../../../kubelet/runtime/simulated/csi/simulated-driver.ts"
import type { ClusterParts } from "../cluster-parts.ts"
import { TEST_MACHINE } from "../servers/servers.ts"
import { csiVolumeMaker } from "./csi-volume-maker.ts"
import { externalAttacher } from "./external-attacher.ts"

/** As many volumes are created at once. Source: worker-threads of the external provisioner. */
const PROVISIONED_AT_ONCE = 100

/**
 * Installs the simulated CSI drivers: their CSIDrivers, and the controllers that a driver brings, which run until the
 * cluster ends. `stops` gets what stops them.
 */
export async function startCsiDrivers(
  { csiDrivers, assembly, ending }: Pick<ClusterParts, "csiDrivers" | "assembly" | "ending">,
  stops: (() => unknown)[],
): Promise<void> {
  await Promise.all([...csiDrivers.values()].map((driver) => start(driver)))

  async function start(driver: SimulatedDriver): Promise<void> {
    const { name, attachRequired } = driver.spec
    const user = `system:serviceaccount:kube-system:${name}`
    const client = assembly.clientFor(user, ["system:masters"])
    await client.create(CSIDriver, { metadata: { name }, spec: { attachRequired } }).catch((err: unknown) => {
      if (!isAlreadyExists(err)) throw err
    })
    const clients = assembly.clientsOn(TEST_MACHINE)
    const context = clients.contextOf(client)
    stops.push(() => clients.release(context))
    const maker = csiVolumeMaker(driver, context.clock, ending.signal)
    const run = async <T extends KubeObject>(controller: Controller<T>) => {
      const running = await startController(controller, context)
      stops.push(() => running.stop())
    }
    await Promise.all([
      run({ ...provisioner(`${name}-provisioner`, maker), workers: PROVISIONED_AT_ONCE }),
      run(reclaimer(`${name}-reclaimer`, maker)),
      run(resizer(`${name}-resizer`, maker)),
      ...(attachRequired ? [run(externalAttacher(driver))] : []),
    ])
  }
}
