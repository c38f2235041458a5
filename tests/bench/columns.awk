# The same 34 columns in the same formats, without the verdicts.
function fix(v, decimals, scale) { return v == "N/A" ? "" : sprintf("%.*f", decimals, v * scale) }

BEGIN { OFS = "," }

/^GPU/ {
        total = $12 + $13 + $14
        real = 35 * $17 + 35 * $19 + 20 * $20 + 10 * $16
        print sprintf("%.2f", n++), $2, "GPU", sprintf("%.2f", real), "", "", fix($17, 2, 100), fix($19, 2, 100),
                fix($20, 2, 100), fix($16, 2, 100), fix($10, 2, 1), fix($13, 4, 1), fix(total, 1, 1),
                fix(total > 0 ? $13 / total : 0, 2, 100), fix($7, 4, 1), fix($6, 4, 1), fix($5, 4, 1), fix($18, 2, 100),
                fix($23, 2, 100), fix($22, 2, 100), fix($21, 2, 100), fix($11, 2, 1), fix($25, 4, 1), fix($24, 4, 1),
                fix($15, 4, 0.001), fix($3, 4, 1), fix($4, 4, 1), fix($9, 2, 1), fix($8, 1, 0.001), fix($29, 2, 100),
                fix($28, 2, 100), fix($30, 2, 100), "", ""
}
