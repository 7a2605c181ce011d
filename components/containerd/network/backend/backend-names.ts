/** How packets of pods reach other nodes: the values of --flannel-backend. `none` leaves that to another program. */
export const BACKENDS = ["vxlan", "host-gw", "wireguard-native", "none"] as const
export type BackendName = (typeof BACKENDS)[number]
