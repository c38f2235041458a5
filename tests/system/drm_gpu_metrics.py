"""gpu_metrics tables, written independently of the program's layouts: ctypes aligns as the kernel's compiler does.

Field names, types and order are those of the kernel's kgd_pp_interface.h.
"""
import ctypes

U8, U16, U32, U64 = ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64


def fields(kind, names):
    """'a b c[4]' as ctypes fields of one kind."""
    for name in names.split():
        name, _, count = name.rstrip("]").partition("[")
        yield name, kind * int(count) if count else kind


HEAD = [("structure_size", U16), ("format_revision", U8), ("content_revision", U8)]
HEAD_1 = [*fields(U16, "temperature_edge temperature_hotspot temperature_mem temperature_vrgfx temperature_vrsoc "
                       "temperature_vrmem average_gfx_activity average_umc_activity average_mm_activity "
                       "average_socket_power")]
CLOCKS_1 = [*fields(U16, "average_gfxclk_frequency average_socclk_frequency average_uclk_frequency "
                         "average_vclk0_frequency average_dclk0_frequency average_vclk1_frequency "
                         "average_dclk1_frequency current_gfxclk current_socclk current_uclk current_vclk0 "
                         "current_dclk0 current_vclk1 current_dclk1"),
            ("throttle_status", U32), ("current_fan_speed", U16)]
V1_1 = [*HEAD, *HEAD_1, *fields(U64, "energy_accumulator system_clock_counter"), *CLOCKS_1,
        *fields(U16, "pcie_link_width pcie_link_speed padding"), *fields(U32, "gfx_activity_acc mem_activity_acc"),
        *fields(U16, "temperature_hbm[4]")]
V1_2 = [*V1_1, ("firmware_timestamp", U64)]
V1_3 = [*V1_2, *fields(U16, "voltage_soc voltage_gfx voltage_mem padding1"), ("indep_throttle_status", U64)]
HEAD_4 = [*fields(U16, "temperature_hotspot temperature_mem temperature_vrsoc curr_socket_power "
                       "average_gfx_activity average_umc_activity")]
LINK = [("gfxclk_lock_status", U32), *fields(U16, "pcie_link_width pcie_link_speed xgmi_link_width xgmi_link_speed"),
        *fields(U32, "gfx_activity_acc mem_activity_acc"),
        *fields(U64, "pcie_bandwidth_acc pcie_bandwidth_inst pcie_l0_to_recov_count_acc pcie_replay_count_acc "
                     "pcie_replay_rover_count_acc")]
NAKS = [*fields(U32, "pcie_nak_sent_count_acc pcie_nak_rcvd_count_acc")]
XGMI = [*fields(U64, "xgmi_read_data_acc[8] xgmi_write_data_acc[8]")]
CLOCKS_4 = [("firmware_timestamp", U64),
            *fields(U16, "current_gfxclk[8] current_socclk[4] current_vclk0[4] current_dclk0[4] current_uclk")]
ENERGY = [*fields(U64, "energy_accumulator system_clock_counter")]
RESIDENCY = [*fields(U32, "accumulation_counter prochot_residency_acc ppt_residency_acc socket_thm_residency_acc "
                          "vr_thm_residency_acc hbm_thm_residency_acc")]
VCN, JPEG = ("vcn_activity", U16 * 4), ("jpeg_activity", U16 * 32)
STATUS, PAD = ("throttle_status", U32), ("padding", U16)


def structure(name, members):
    return type(name, (ctypes.Structure,), {"_fields_": members})


def record(jpeg, accumulators):
    return structure("xcp", [("gfx_busy_inst", U32 * 8), ("jpeg_busy", U16 * jpeg), ("vcn_busy", U16 * 4),
                             *[(f"acc{i}", U64 * 8) for i in range(accumulators)]])


def partitioned(bandwidth, xcp):
    status = [*fields(U16, "xgmi_link_status[8] padding")] if bandwidth else []
    return [*HEAD, *HEAD_4, *([("mem_max_bandwidth", U64)] if bandwidth else []), *ENERGY, *RESIDENCY, *LINK, *NAKS,
            *XGMI, *status, *CLOCKS_4, ("num_partition", U16), ("xcp_stats", xcp * 8),
            ("pcie_lc_perf_other_end_recovery", U32)]


TEMPS_2 = [*fields(U16, "temperature_gfx temperature_soc temperature_core[8] temperature_l3[2] average_gfx_activity "
                        "average_mm_activity")]
POWER_2 = [*fields(U16, "average_socket_power average_cpu_power average_soc_power average_gfx_power "
                        "average_core_power[8] average_gfxclk_frequency average_socclk_frequency "
                        "average_uclk_frequency average_fclk_frequency average_vclk_frequency "
                        "average_dclk_frequency current_gfxclk current_socclk current_uclk current_fclk "
                        "current_vclk current_dclk current_coreclk[8] current_l3clk[2]"),
           ("throttle_status", U32), ("fan_pwm", U16)]
V2_1 = [*HEAD, *TEMPS_2, ("system_clock_counter", U64), *POWER_2, ("padding", U16 * 3)]
V2_2 = [*V2_1, ("indep_throttle_status", U64)]
V2_3 = [*V2_2, *fields(U16, "average_temperature_gfx average_temperature_soc average_temperature_core[8] "
                            "average_temperature_l3[2]")]
V2_4 = [*V2_3, *fields(U16, "average_cpu_voltage average_soc_voltage average_gfx_voltage average_cpu_current "
                            "average_soc_current average_gfx_current")]
V3_0 = [*HEAD, *fields(U16, "temperature_gfx temperature_soc temperature_core[16] temperature_skin "
                            "average_gfx_activity average_vcn_activity average_ipu_activity[8] "
                            "average_core_c0_activity[16] average_dram_reads average_dram_writes average_ipu_reads "
                            "average_ipu_writes"),
        ("system_clock_counter", U64), ("average_socket_power", U32), ("average_ipu_power", U16),
        *fields(U32, "average_apu_power average_gfx_power average_dgpu_power average_all_core_power"),
        *fields(U16, "average_core_power[16] average_sys_power stapm_power_limit current_stapm_power_limit "
                     "average_gfxclk_frequency average_socclk_frequency average_vpeclk_frequency "
                     "average_ipuclk_frequency average_fclk_frequency average_vclk_frequency average_uclk_frequency "
                     "average_mpipu_frequency current_coreclk[16] current_core_maxfreq current_gfx_maxfreq"),
        *fields(U32, "throttle_residency_prochot throttle_residency_spl throttle_residency_fppt "
                     "throttle_residency_sppt throttle_residency_thm_core throttle_residency_thm_gfx "
                     "throttle_residency_thm_soc time_filter_alphavalue")]

# Version → structure. "1.6e" is the 1.6 of the first kernels that had one.
TABLES = {name: structure(f"v{name}", members) for name, members in {
    "1.0": [*HEAD, ("system_clock_counter", U64), *HEAD_1, ("energy_accumulator", U32), *CLOCKS_1,
            ("pcie_link_width", U8), ("pcie_link_speed", U8)],
    "1.1": V1_1, "1.2": V1_2, "1.3": V1_3,
    "1.4": [*HEAD, *HEAD_4, VCN, *ENERGY, STATUS, *LINK, *XGMI, *CLOCKS_4, PAD],
    "1.5": [*HEAD, *HEAD_4, VCN, JPEG, *ENERGY, STATUS, *LINK, *NAKS, *XGMI, *CLOCKS_4, PAD],
    "1.6e": [*HEAD, *HEAD_4, VCN, JPEG, *ENERGY, *RESIDENCY, STATUS, *LINK, *NAKS, *XGMI, *CLOCKS_4, PAD],
    "1.6": partitioned(False, record(32, 1)),
    "1.7": partitioned(True, record(32, 2)),
    "1.8": partitioned(True, record(40, 5)),
    "2.0": [*HEAD, ("system_clock_counter", U64), *TEMPS_2, *POWER_2, ("padding", U16)],
    "2.1": V2_1, "2.2": V2_2, "2.3": V2_3, "2.4": V2_4, "3.0": V3_0,
}.items()}

# What the program calls the fields that have another name in some versions.
ALIASES = {"fan_pwm": "current_fan_speed", "average_vcn_activity": "average_mm_activity",
           "throttle_residency_prochot": "prochot_residency_acc", "throttle_residency_fppt": "ppt_residency_acc",
           "throttle_residency_thm_gfx": "socket_thm_residency_acc"}


def table(version, **values):
    """A table as the firmware writes it: all bits set where no value is given. A list fills instances in order;
    xcp_stats is a list of busy shares a partition."""
    made = TABLES[version]()
    ctypes.memset(ctypes.byref(made), 0xFF, ctypes.sizeof(made))
    made.structure_size = ctypes.sizeof(made)
    made.format_revision, made.content_revision = int(version[0]), int(version[2])
    for name, value in values.items():
        if name == "xcp_stats":
            for i, busy in enumerate(value):
                for k, share in enumerate(busy):
                    made.xcp_stats[i].gfx_busy_inst[k] = share
        elif isinstance(value, list):
            for i, v in enumerate(value):
                getattr(made, name)[i] = v
        else:
            setattr(made, name, value)
    return bytes(made)


# Attributes of version 1.9: name → (number, type, unit).
ATTRIBUTES = {"temperature_hotspot": (0, U16, 2), "temperature_mem": (1, U16, 2), "curr_socket_power": (3, U16, 3),
              "average_gfx_activity": (4, U16, 10), "average_umc_activity": (5, U16, 10),
              "energy_accumulator": (7, U64, 0), "ppt_residency_acc": (11, U32, 0),
              "xgmi_read_data_acc": (29, U64, 9), "xgmi_write_data_acc": (30, U64, 9), "current_gfxclk": (33, U16, 1),
              "current_uclk": (37, U16, 1), "num_partition": (38, U16, 0), "prochot_residency_acc": (10, U32, 0),
              "gfx_below_host_limit_ppt_acc": (44, U64, 0), "gfx_below_host_limit_thm_acc": (45, U64, 0)}
TYPES = {U8: 0, U16: 2, U32: 4, U64: 6}


def attribute_table(**values):
    """Version 1.9: a list of attributes, each told by 64 bits."""
    body = b""
    for name, value in values.items():
        number, kind, unit = ATTRIBUTES[name]
        many = value if isinstance(value, list) else [value]
        code = unit << 24 | TYPES[kind] << 20 | number << 10 | len(many)
        body += code.to_bytes(8, "little") + b"".join(bytes(kind(v)) for v in many)
    head = (8 + len(body)).to_bytes(2, "little") + b"\x01\x09" + len(values).to_bytes(4, "little")
    return head + body
