/** How packets of pods reach other nodes: the values of --flannel-backend. `none` leaves that to another program. */
export const BACKENDS = ["vxlan", "host-gw", "wireguard-native", "none"] as const
export type BackendName = (typeof BACKENDS)[number]

/** The UDP ports at which backends receive packets of other nodes. Sources: vxlan.ts, wireguard.ts. */
export const BACKEND_PORTS: Readonly<Record<BackendName, number | undefined>> = {
  vxlan: 8472,
  "host-gw": undefined,
  "wireguard-native": 51_820,
  none: undefined,
}
